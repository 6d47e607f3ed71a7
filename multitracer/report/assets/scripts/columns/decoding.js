// Unpacks and decodes columns as column_encoding.py encodes them: base64, gzip; byte planes, zigzag codes, differences.

/** The bytes that a base64 text stands for. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The octets that a text of base64 and gzip holds. */
async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** `count` doubles out of their eight byte planes. */
function floats(planes, count) {
  const bytes = new Uint8Array(8 * count);
  for (let plane = 0; plane < 8; plane++) {
    const first = plane * count;
    for (let i = 0; i < count; i++) bytes[8 * i + plane] = planes[first + i];
  }
  return new Float64Array(bytes.buffer);
}

/**
 * Integers out of zigzag codes in one, two, four or eight byte planes, summed up when they are differences.
 *
 * A bitwise operation is limited to 32 bits: the upper half of an eight byte code is read as a second number.
 */
function integers(planes, meta) {
  const count = meta.n;
  const width = meta.w;
  const isDelta = meta.mode === "delta";
  const out = new Float64Array(count);
  let value = meta.base;
  for (let i = 0; i < count; i++) {
    let low = planes[i];
    if (width > 1) low |= planes[count + i] << 8;
    if (width > 2) low = (low | (planes[2 * count + i] << 16) | (planes[3 * count + i] << 24)) >>> 0;
    let high = 0;
    if (width > 4) {
      high = planes[4 * count + i] | (planes[5 * count + i] << 8);
      high = (high | (planes[6 * count + i] << 16) | (planes[7 * count + i] << 24)) >>> 0;
    }
    const half = high * 2147483648 + (low >>> 1);
    const signed = low & 1 ? -half - 1 : half;
    value = isDelta ? value + signed : signed;
    out[i] = value;
  }
  if (meta.divide !== 1) for (let i = 0; i < count; i++) out[i] /= meta.divide;
  return out;
}

/** The values of a column, from its octets and what its encoder noted about it. */
function decode(octets, meta) {
  if (meta.mode === "text") return JSON.parse(new TextDecoder().decode(octets));
  return meta.mode === "float" ? floats(octets, meta.n) : integers(octets, meta);
}

MT.decoding = { unpack, decode };
