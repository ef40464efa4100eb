package webpush

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = raceEnabled
