package core

import (
	"testing"
	"time"
)

func TestMonthsAndDaysAreUTC(t *testing.T) {
	t.Parallel()
	auckland := time.FixedZone("NZDT", 13*3600)
	samoa := time.FixedZone("SST", -11*3600)
	for name, test := range map[string]struct {
		at    time.Time
		month string
		day   string
		end   string
	}{
		"the last moment of a leap day": {
			time.Date(2028, 2, 29, 23, 59, 59, 999e6, time.UTC), "2028-02", "2028-02-29", "2028-03-01T00:00:00Z",
		},
		"the first moment after a leap day": {
			time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC), "2028-03", "2028-03-01", "2028-04-01T00:00:00Z",
		},
		"February of another year": {
			time.Date(2027, 2, 28, 23, 59, 59, 0, time.UTC), "2027-02", "2027-02-28", "2027-03-01T00:00:00Z",
		},
		"the end of a year": {
			time.Date(2027, 12, 31, 12, 0, 0, 0, time.UTC), "2027-12", "2027-12-31", "2028-01-01T00:00:00Z",
		},
		"the first of a month in the east": {
			time.Date(2027, 5, 1, 12, 0, 0, 0, auckland), "2027-04", "2027-04-30", "2027-05-01T00:00:00Z",
		},
		"the last of a month in the west": {
			time.Date(2027, 4, 30, 14, 0, 0, 0, samoa), "2027-05", "2027-05-01", "2027-06-01T00:00:00Z",
		},
	} {
		if got := Month(test.at); got != test.month {
			t.Errorf("%s is in %s, want %s", name, got, test.month)
		}
		if got := Day(test.at); got != test.day {
			t.Errorf("%s is on %s, want %s", name, got, test.day)
		}
		if got := MonthEnd(test.at).Format(time.RFC3339); got != test.end {
			t.Errorf("the month of %s ends at %s, want %s", name, got, test.end)
		}
	}
}

func TestAddMonthsStaysWithinShortMonths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from   string
		months int
		want   string
	}{
		{"2027-01-31T10:20:30Z", 1, "2027-02-28T10:20:30Z"},
		{"2028-01-31T10:20:30Z", 1, "2028-02-29T10:20:30Z"},
		{"2028-01-31T10:20:30Z", 2, "2028-03-31T10:20:30Z"},
		{"2028-01-31T10:20:30Z", 3, "2028-04-30T10:20:30Z"},
		{"2028-02-29T00:00:00Z", 12, "2029-02-28T00:00:00Z"},
		{"2028-02-29T00:00:00Z", 48, "2032-02-29T00:00:00Z"},
		{"2027-12-31T23:59:59Z", 2, "2028-02-29T23:59:59Z"},
		{"2027-11-30T23:00:00-05:00", 1, "2028-01-01T04:00:00Z"}, // in UTC it is December already
		{"2027-03-31T00:00:00Z", -1, "2027-02-28T00:00:00Z"},
		{"2027-06-15T00:00:00Z", 0, "2027-06-15T00:00:00Z"},
	} {
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := AddMonths(from, test.months).Format(time.RFC3339); got != test.want {
			t.Errorf("%s and %d months is %s, want %s", test.from, test.months, got, test.want)
		}
	}
}
