package core

import "time"

// Month returns the month of t in UTC, by which spend is stored.
func Month(t time.Time) string { return t.UTC().Format("2006-01") }

// MonthEnd returns the start of the month after t in UTC, when spend resets.
func MonthEnd(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}

// Day returns the day of t in UTC, by which usage is reported.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// AddMonths returns the same day and time that many months later, in UTC. If that month is too short, it returns its
// last day: one month after 31 January is the last day of February. To step through months, add 1, 2, 3 months to the
// start instead of one month repeatedly, so that March has the 31st again.
func AddMonths(t time.Time, months int) time.Time {
	t = t.UTC()
	year, month, day := t.Date()
	first := time.Date(year, month+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(day, last)-1)
}
