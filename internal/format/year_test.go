package format

import "testing"

func TestYearOfAFirstPage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Name: Ada Date of Birth: 11/17/1963 Date: 8/13/2020":                                    2020,
		"Date of birth: 4.5.1963":                                                                0,
		"Mr. Peter Fong, Principal Cupertino Union School District October 23, 2014\nTraffic":    2014,
		"The school has been closed to visitors since the end of the term on October 23, 2014\n": 0,
		"Issued on Thu Sep 22 19:30:30 UTC 2011":                                                 2011,
	} {
		if got := yearIn(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestYearOfATitle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title         string
		created, want int
	}{
		{"ISU GP Trophee Bompard 2012", 2003, 2012}, // the clock was wrong
		{"Download Festival 2009 Timetable", 2011, 2009},
		{"The crisis of 2008", 2015, 0},
		{"The revolution of 1848", 2015, 0},
		{"From 2001 to 2010", 2011, 0},
		{"Report 2020", 0, 2020},
		{"Room 12019", 2019, 0},
	} {
		if got := titleYear(c.title, c.created); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.title, c.created, got, c.want)
		}
	}
}
