package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func examplePlot() plot {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	return plot{
		latencies: []plotGroup{
			{"110,000 documents", []plotLine{
				{"Carrel", true, ms(1.5), ms(4), ms(10.9)},
				{"Bleve", false, ms(16), ms(40), ms(64)},
				{"SQLite FTS5", false, ms(226), ms(400), ms(514)},
			}},
			{"1,000,000 documents", []plotLine{
				{"Carrel", true, ms(7.7), ms(20), ms(43)},
				{"Bleve", false, ms(139), ms(300), ms(489)},
				{"<Other> & Co", false, ms(1750), ms(3000), ms(4900)},
			}},
		},
		bars: []plotBar{
			{"Carrel", true, 0.486},
			{"Bleve", false, 0.437},
			{"Bleve, several fields", false, 0.425},
			{"SQLite FTS5", false, 0.459},
		},
	}
}

func drawn(t *testing.T, p plot) string {
	t.Helper()
	var b strings.Builder
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPlotIsWellFormed(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]plot{
		"full":  examplePlot(),
		"empty": {},
		"no time": {
			latencies: []plotGroup{{"1 document", []plotLine{{"Carrel", true, 0, 0, 0}}}}, bars: []plotBar{{"Carrel", true, 0}},
		},
	} {
		decoder := xml.NewDecoder(strings.NewReader(drawn(t, p)))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestPlotNamesEveryEngineAndNumber(t *testing.T) {
	t.Parallel()
	svg := drawn(t, examplePlot())
	for _, want := range []string{
		"1,000,000 documents", "&lt;Other&gt; &amp; Co", "7.7 ms – 43 ms", "1.8 s – 4.9 s", "0.486", ">1 ms<",
		">10 s<", "prefers-color-scheme: dark",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the drawing holds a number that is none")
	}
}

func TestLogAxisPutsEveryFactorOfTenAtTheSameDistance(t *testing.T) {
	t.Parallel()
	axis, ok := axisOf(examplePlot().latencies)
	if !ok {
		t.Fatal("no axis")
	}
	ticks := axis.ticks()
	if len(ticks) != 5 || ticks[0] != time.Millisecond || ticks[4] != 10*time.Second {
		t.Fatalf("ticks %v", ticks)
	}
	step := axis.x(ticks[1]) - axis.x(ticks[0])
	for i := 1; i < len(ticks); i++ {
		if got := axis.x(ticks[i]) - axis.x(ticks[i-1]); got < step-0.01 || got > step+0.01 {
			t.Errorf("from %s to %s are %.2f, not %.2f", ticks[i-1], ticks[i], got, step)
		}
	}
	if axis.x(ticks[0]) != plotLeft || axis.x(ticks[4]) != plotRight {
		t.Errorf("the axis goes from %.1f to %.1f", axis.x(ticks[0]), axis.x(ticks[4]))
	}
}
