// Colours as numbers, and as the four bytes of a pixel.

/** Red, green and blue of a colour like #0072b2. */
function rgbOf(text) {
  const value = parseInt(text.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** One pixel of an RGBA picture, as the little-endian number that its four bytes are. */
function pixel(rgb, alpha) {
  return ((alpha << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
}

MT.colours = { rgbOf, pixel };
