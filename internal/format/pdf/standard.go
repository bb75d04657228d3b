package pdf

import "strings"

// Widths of the ASCII characters of the standard fonts, which files need not repeat (ISO 32000-1, section 9.6.2.2). The
// bold and slanted fonts differ little.
var (
	helveticaWidths = [95]int16{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
		556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
		722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
		556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
		260, 334, 584,
	}
	timesWidths = [95]int16{
		250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500,
		500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889,
		722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500,
		444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480,
		200, 480, 541,
	}
)

// setStandardWidths sets the widths of a standard font that has none of its own.
func (ft *font) setStandardWidths(base string) {
	_, plain, subset := strings.Cut(base, "+")
	if subset {
		base = plain
	}
	var table *[95]int16
	switch family, _, _ := strings.Cut(strings.ReplaceAll(base, ",", "-"), "-"); family {
	case "Courier", "CourierNew", "CourierNewPSMT":
		ft.missing = 600
		return
	case "Helvetica", "Arial", "ArialMT":
		table = &helveticaWidths
	case "Times", "TimesNewRoman", "TimesNewRomanPSMT", "TimesNewRomanPS":
		table = &timesWidths
	default:
		return
	}
	for i, w := range table {
		ft.widths[' '+i] = float64(w)
	}
}
