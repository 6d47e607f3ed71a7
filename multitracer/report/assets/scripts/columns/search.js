// Search in columns that are sorted in rising order.

/** The index of the first value that is not below `value`; the column's length when all are below. */
function lowerBound(column, value) {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the first value that is above `value`; the column's length when none is. */
function upperBound(column, value) {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

MT.search = { lowerBound, upperBound };
