package format

import "testing"

func TestADOIIsKeptBareOrNotAtAll(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"10.1000/182":                         "10.1000/182",
		" https://doi.org/10.1000/a(b)<c>;d ": "10.1000/a(b)<c>;d",
		"http://dx.doi.org/10.1000/182":       "10.1000/182",
		"https://www.doi.org/10.1000/182":     "10.1000/182",
		"https://doi.org/10.1000%2F182":       "10.1000/182",
		"10.1000/a%2Fb":                       "10.1000/a%2Fb",
		"https://doi.org/10.1000/%ff":         "10.1000/%ff",
		"https://doi.org/10.1000/%00":         "",
		"DOI: 10.1000/AbC":                    "10.1000/AbC",
		"doi.org/10.123456789/x":              "10.123456789/x",
		"https://doi.org/doi:10.1000/182":     "10.1000/182",
		"10.100/182":                          "",
		"10.1000/":                            "",
		"10.1000/a b":                         "",
		"x10.1000/182":                        "",
		"https://example.org/10.1000/182":     "",
		"":                                    "",
	} {
		if got := bareDOI(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestOnlyWebAddressesAreLinks(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		" https://x.org/ä?b=c#d ": "https://x.org/ä?b=c#d",
		"HTTP://X.org":            "HTTP://X.org",
		"http://[::1]:80/":        "http://[::1]:80/",
		"javascript:alert(1)":     "",
		"java\nscript:alert(1)":   "",
		"data:text/html,x":        "",
		"ftp://x.org":             "",
		"//x.org":                 "",
		"/path":                   "",
		"http:x":                  "",
		"https://":                "",
		"http://x.org/\x00":       "",
		"http://x.org/\x7f":       "",
		"":                        "",
	} {
		if got := webAddress(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestTheYearIsFoundInADate(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int{
		"1936": 1936, "2021-03-04": 2021, "20210304": 2021, "2021-03-04T05:06:07+0100": 2021, "4 March 2021": 2021,
		"03/04/2021": 2021, "Mon, 02 Jan 2006 15:04:05 -0700": 2006, "0476": 476, "©1999": 1999,
		"": 0, "soon": 0, "0000": 0, "12345": 0, "99": 0, "1600000000": 0,
	} {
		if got := yearOfDate(given); got != want {
			t.Errorf("%q: got %d, want %d", given, got, want)
		}
	}
}

func TestTheFirstLineOfATextIsItsTitleIfItLooksLikeOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A title\n\ntext":               "A title",
		"\n\n  A title  \nAnd text":     "A title",
		"A title":                       "A title",
		"Über  alles?\n====\ntext":      "Über alles?",
		"It was the best of times,\nit": "file",
		"It was the best of\ntimes":     "file",
		"Dear all,\n\ntext":             "file",
		"A sentence.\n\ntext":           "file",
		"----\n\ntext":                  "file",
		longLine + "\n\ntext":           "file",
		"":                              "file",
		" \n\t\n":                       "file",
	} {
		if d, err := parsePlain(testBudget(t), "dir/file.txt", []byte(text)); err != nil || d.Title != want {
			t.Errorf("%q: got %q, %v", text, d.Title, err)
		}
	}
}

const longLine = "This line is a good deal too long to be the title of anything at all, for it goes on and on and " +
	"on until nobody knows any more"
