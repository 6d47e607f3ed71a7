"""`python -m multitracer` is the command `multitracer`."""

from multitracer.cli import main

if __name__ == "__main__":
    main()
