// The page of a simulation: its axis is a key.

MT.page.start({}, async (page) => MT.page.keepStill(page));
