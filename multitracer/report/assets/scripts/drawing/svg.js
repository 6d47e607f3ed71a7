// Elements of SVG, and pictures of them as files.

const SPACE = "http://www.w3.org/2000/svg";
const FAMILY = 'system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
const SHARP = 2; // pixels of a PNG for each of the screen

const measuring = document.createElement("canvas").getContext("2d");

/** An element with its attributes and what is in it; of children that are null or undefined nothing is made. */
function element(name, attributes, ...children) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A line of text that begins, or with the attribute text-anchor ends or has its middle, at x; y is its base line. */
function text(x, y, content, attributes = {}) {
  return element("text", { x, y, "font-size": 12, ...attributes }, content);
}

/** How wide a line of text is, in pixels. */
function widthOf(content, size = 12, weight = "normal") {
  measuring.font = `${weight} ${size}px ${FAMILY}`;
  return measuring.measureText(content).width;
}

/** A whole picture on a white ground. */
function picture(width, height, ...children) {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const ground = element("rect", { width, height, fill: "#ffffff" });
  return element("svg", { xmlns: SPACE, "font-family": FAMILY, ...size }, ground, ...children);
}

function toSvg(made) {
  return new Blob([new XMLSerializer().serializeToString(made)], { type: "image/svg+xml" });
}

/** The same picture in pixels, twice as many as on the screen. */
async function toPng(made) {
  const url = URL.createObjectURL(toSvg(made));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = SHARP * Number(made.getAttribute("width"));
    canvas.height = SHARP * Number(made.getAttribute("height"));
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

MT.svg = { element, text, widthOf, picture, toSvg, toPng };
