"use strict";
// Takes the page's columns apart: base64, gzip, planes of bytes, zigzag, differences (see blobs.py).
const mtCodec = (function () {
  function octets(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text), bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  }

  async function inflated(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  function floats(planes, n) {
    const bytes = new Uint8Array(8 * n);
    for (let p = 0; p < 8; p++) for (let i = 0, at = p * n; i < n; i++) bytes[8 * i + p] = planes[at + i];
    return new Float64Array(bytes.buffer);
  }

  // Codes of up to four octets fit 32 bits; of eight, the upper half is added as a number of its own.
  function integers(planes, meta) {
    const n = meta.n, w = meta.w, out = new Float64Array(n), delta = meta.mode === "delta", divide = meta.divide;
    let value = meta.base;
    for (let i = 0; i < n; i++) {
      let low = planes[i];
      if (w > 1) low |= planes[n + i] << 8;
      if (w > 2) low = (low | planes[2 * n + i] << 16 | planes[3 * n + i] << 24) >>> 0;
      let high = 0;
      if (w > 4) high = (planes[4 * n + i] | planes[5 * n + i] << 8 | planes[6 * n + i] << 16 | planes[7 * n + i] << 24) >>> 0;
      const half = high * 2147483648 + (low >>> 1), signed = low & 1 ? -half - 1 : half;
      value = delta ? value + signed : signed;
      out[i] = value;
    }
    if (divide !== 1) for (let i = 0; i < n; i++) out[i] /= divide;
    return out;
  }

  async function column(element) {
    const meta = JSON.parse(element.dataset.meta), raw = await inflated(octets(element.textContent.trim()));
    element.remove();
    if (meta.mode === "text") return JSON.parse(new TextDecoder().decode(raw));
    return meta.mode === "float" ? floats(raw, meta.n) : integers(raw, meta);
  }

  return {column: column};
})();
