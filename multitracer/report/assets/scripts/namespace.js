// The one global name of the page's scripts: every file adds what others use as a property of it, such as MT.search.
globalThis.MT = {};
