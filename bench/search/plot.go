package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// plot is the comparison as a chart: latencies on a logarithmic axis, and bars for quality.
type plot struct {
	latencies []plotGroup
	bars      []plotBar
}

// plotGroup has the engines for one number of documents.
type plotGroup struct {
	title string
	lines []plotLine
}

// plotLine is the latency of an engine, from p50 to p99.
type plotLine struct {
	engine        string
	own           bool // ours is highlighted
	p50, p90, p99 time.Duration
}

// plotBar is the mean nDCG of an engine.
type plotBar struct {
	engine string
	own    bool
	value  float64
}

func (c *comparison) plot() plot {
	var p plot
	for _, size := range c.settings.sizes {
		g := plotGroup{title: count(size) + " documents"}
		for _, r := range c.results {
			if r.size != size {
				continue
			}
			all := r.times("plain")
			g.lines = append(g.lines,
				plotLine{r.kind.title, r.kind.key == ours, percentile(all, 50), percentile(all, 90), percentile(all, 99)})
		}
		p.latencies = append(p.latencies, g)
	}
	for i, k := range c.quality.engines {
		p.bars = append(p.bars, plotBar{k.title, k.key == ours, mean(c.quality.means(i, byNDCG))})
	}
	return p
}

// Dimensions in user units.
const (
	plotWidth = 760
	plotLeft  = 170 // start of the axes, after the names
	plotRight = 580 // end of the axes, before the numbers
	lineStep  = 30
	barHeight = 14
)

// plotStyle has colours for light and dark pages. The chart has its own background, because an embedded image
// cannot use the colours of its page.
const plotStyle = `<style>
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d8dee4; --own: #0a6ebd; --peer: #8c959f; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --grid: #30363d; --own: #58a6ff; --peer: #768390; }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); }
  .title { font-weight: 600; font-size: 15px; }
  .faint { fill: var(--faint); font-size: 12px; }
  .own { font-weight: 600; }
  .paper { fill: var(--paper); }
  .grid { stroke: var(--grid); stroke-width: 1; }
  .peer-line { stroke: var(--peer); } .own-line { stroke: var(--own); }
  .peer-mark { fill: var(--peer); } .own-mark { fill: var(--own); }
</style>
`

// drawing collects elements from top to bottom.
type drawing struct {
	body strings.Builder
	y    float64
}

// write renders the SVG. The height is known only after drawing, so the head is written last.
func (p plot) write(w io.Writer) error {
	d := &drawing{y: 34}
	d.text("title", 20, d.y, "start", "Latency of a search: median, 90 % and 99 % of the questions (logarithmic)")
	d.latencies(p.latencies)
	d.y += 44
	d.text("title", 20, d.y, "start", "Quality of the answers: mean nDCG@10 over the judged collections")
	d.bars(p.bars)
	height := d.y + 24

	_, err := fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img">
<title>Carrel's search beside its peers: latency and quality</title>
%s<rect class="paper" width="100%%" height="100%%"/>
%s</svg>
`, plotWidth, height, plotWidth, height, plotStyle, d.body.String())
	return err
}

// latencies draws the engines of every size on a common axis.
func (d *drawing) latencies(groups []plotGroup) {
	axis, ok := axisOf(groups)
	if !ok {
		d.y += 24
		d.text("faint", 20, d.y, "start", "not measured")
		return
	}
	top := d.y + 16
	// The grid is behind the lines, so the lines are buffered.
	front := &drawing{y: d.y}
	for _, g := range groups {
		front.y += 40
		front.text("faint", 20, front.y, "start", g.title)
		front.y -= 6
		for _, l := range g.lines {
			front.y += lineStep
			front.latency(l, axis)
		}
		front.y += 6
	}
	for _, at := range axis.ticks() {
		x := axis.x(at)
		fmt.Fprintf(&d.body, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x, top, x, front.y+8)
		d.text("faint", x, front.y+24, "middle", tickLabel(at))
	}
	d.body.WriteString(front.body.String())
	d.y = front.y + 24
}

func (d *drawing) latency(l plotLine, axis logAxis) {
	mark, line, name := classes(l.own)
	d.text(name, plotLeft-14, d.y+4, "end", l.engine)
	from, to := axis.x(l.p50), axis.x(l.p99)
	fmt.Fprintf(&d.body,
		`<line class="%s" stroke-width="3" stroke-linecap="round" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", line, from,
		d.y, to, d.y)
	fmt.Fprintf(&d.body, `<circle class="%s" cx="%.1f" cy="%.1f" r="6"/>`+"\n", mark, from, d.y)
	fmt.Fprintf(&d.body, `<line class="%s" stroke-width="3" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", line,
		axis.x(l.p90), d.y-5, axis.x(l.p90), d.y+5)
	fmt.Fprintf(&d.body, `<line class="%s" stroke-width="3" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", line, to,
		d.y-7, to, d.y+7)
	d.text(name, plotRight+20, d.y+4, "start", shortTime(l.p50)+" – "+shortTime(l.p99))
}

// bars draws one bar per engine, from 0 to the rounded-up maximum.
func (d *drawing) bars(bars []plotBar) {
	most := 0.0
	for _, b := range bars {
		most = max(most, b.value)
	}
	if most == 0 {
		d.y += 24
		d.text("faint", 20, d.y, "start", "not judged")
		return
	}
	end := math.Ceil(most*10) / 10
	for _, b := range bars {
		mark, _, name := classes(b.own)
		d.y += lineStep
		d.text(name, plotLeft-14, d.y+4, "end", b.engine)
		fmt.Fprintf(&d.body, `<rect class="%s" x="%d" y="%.1f" width="%.1f" height="%d" rx="2"/>`+"\n",
			mark, plotLeft, d.y-barHeight/2, b.value/end*(plotRight-plotLeft), barHeight)
		d.text(name, plotRight+20, d.y+4, "start", fmt.Sprintf("%.3f", b.value))
	}
}

func classes(own bool) (mark, line, name string) {
	if own {
		return "own-mark", "own-line", "own"
	}
	return "peer-mark", "peer-line", "peer"
}

func (d *drawing) text(class string, x, y float64, anchor, content string) {
	fmt.Fprintf(&d.body, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">`, class, x, y, anchor)
	// Writing to a strings.Builder cannot fail.
	_ = xml.EscapeText(&d.body, []byte(content))
	d.body.WriteString("</text>\n")
}

// logAxis maps durations to positions on a logarithmic scale.
type logAxis struct{ from, to float64 } // powers of ten of a millisecond

// axisOf returns an axis in whole powers of ten that fits all lines.
func axisOf(groups []plotGroup) (logAxis, bool) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, g := range groups {
		for _, l := range g.lines {
			if l.p50 > 0 {
				least, most = min(least, logOf(l.p50)), max(most, logOf(l.p99))
			}
		}
	}
	if math.IsInf(least, 1) {
		return logAxis{}, false
	}
	from := math.Floor(least)
	return logAxis{from, max(math.Ceil(most), from+1)}, true
}

func logOf(d time.Duration) float64 { return math.Log10(float64(d) / float64(time.Millisecond)) }

// x returns the position of a duration, at least the start of the axis.
func (a logAxis) x(d time.Duration) float64 {
	at := a.from
	if d > 0 {
		at = max(logOf(d), a.from)
	}
	return plotLeft + (at-a.from)/(a.to-a.from)*(plotRight-plotLeft)
}

func (a logAxis) ticks() []time.Duration {
	var out []time.Duration
	for power := a.from; power <= a.to; power++ {
		out = append(out, time.Duration(math.Round(math.Pow(10, power)*float64(time.Millisecond))))
	}
	return out
}

func tickLabel(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
}

// shortTime formats a duration with two or three significant digits.
func shortTime(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}
