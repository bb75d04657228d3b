package core

import "time"

// Month names the month that t is in, UTC, as spend is kept by.
func Month(t time.Time) string { return t.UTC().Format("2006-01") }

// MonthEnd returns when the spend of the month that t is in starts anew: the first of the next month, UTC.
func MonthEnd(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}

// Day names the day that t is in, UTC, as usage is told by.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// AddMonths returns the same time of the same day that many months later, in UTC. Where a month does not have the day it
// is that month's last: a month after 31 January is the end of February, of 29 days in leap years. Whoever counts on from
// a start asks for 1, 2, 3 months after it, not for one month three times: so the 31st comes back in March.
func AddMonths(t time.Time, months int) time.Time {
	t = t.UTC()
	year, month, day := t.Date()
	first := time.Date(year, month+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(day, last)-1)
}
