package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

// Dimensions of the chart in user units.
const (
	growthLeft   = 210 // start of the first axis, after the names
	growthColumn = 300 // width of the axis of a database
	growthGap    = 70  // after an axis, for the growth
	growthStep   = 22  // height of an operation
	growthTop    = 78
)

// growthStyle has colours for light and dark pages. The chart has its own background, because an embedded image cannot
// use the colours of its page.
const growthStyle = `<style>
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d8dee4; --mark: #0a6ebd; --missed: #c93c37; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --grid: #30363d; --mark: #58a6ff; --missed: #ff7b72; }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); }
  .title { font-weight: 600; font-size: 15px; }
  .faint { fill: var(--faint); font-size: 12px; }
  .paper { fill: var(--paper); }
  .grid { stroke: var(--grid); stroke-width: 1; }
  .met { fill: var(--mark); stroke: var(--mark); } .missed { fill: var(--missed); stroke: var(--missed); }
</style>
`

// draw writes the chart to a file.
func (r *growthRun) draw(path string) error { return os.WriteFile(path, []byte(r.chart()), 0o644) }

// chart returns an SVG with a row per operation and a logarithmic axis per database. The circles of an operation are
// its costs; the larger a circle, the larger the data.
func (r *growthRun) chart() string {
	if len(r.results) == 0 {
		return ""
	}
	var b strings.Builder
	from, to := r.costRange()
	operations := r.results[0].operations
	width := growthLeft + len(r.results)*(growthColumn+growthGap)
	height := growthTop + len(operations)*growthStep + 40
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>Cost of operations by the size of the data</title>
%s<rect class="paper" width="100%%" height="100%%"/>
`, width, height, width, height, growthStyle)
	drawText(&b, "title", 20, 28, "start", fmt.Sprintf("Processor time of a request at %s the data (logarithmic)",
		sizes(r.settings.levels)))
	for i, name := range operations {
		drawText(&b, "", growthLeft-14, growthTop+i*growthStep+4, "end", name)
	}
	for column, result := range r.results {
		left := growthLeft + column*(growthColumn+growthGap)
		x := func(d time.Duration) float64 {
			return float64(left) + (costPower(d)-from)/(to-from)*growthColumn
		}
		name, _, _ := strings.Cut(result.database, " (") // without the packager's version
		drawText(&b, "title", left, 56, "start", name)
		for power := from; power <= to; power++ {
			at := time.Duration(math.Pow(10, power) * float64(time.Millisecond))
			fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", x(at), growthTop-12, x(at), height-34)
			drawText(&b, "faint", int(x(at)), height-16, "middle", at.String())
		}
		for i, name := range operations {
			drawCosts(&b, result.costs[name], growthTop+i*growthStep, left+growthColumn+12, x)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawCosts draws the costs of an operation as connected circles, and its growth beside them.
func drawCosts(b *strings.Builder, costs []growthCost, y, labelX int, x func(time.Duration) float64) {
	grown := growth(costs)
	class := "met"
	if grown > growthLimit {
		class = "missed"
	}
	for i, cost := range costs {
		if i > 0 {
			fmt.Fprintf(b, `<line class="%s" stroke-width="2" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n",
				class, x(costs[i-1].cpu), y, x(cost.cpu), y)
		}
		fmt.Fprintf(b, `<circle class="%s" fill-opacity="0.5" cx="%.1f" cy="%d" r="%d"/>`+"\n", class, x(cost.cpu), y, 2+2*i)
	}
	drawText(b, "faint", labelX, y+4, "start", fmt.Sprintf("%.1f×", grown))
}

// costRange returns the powers of ten of a millisecond between which all costs are.
func (r *growthRun) costRange() (from, to float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, result := range r.results {
		for _, costs := range result.costs {
			for _, cost := range costs {
				least, most = min(least, costPower(cost.cpu)), max(most, costPower(cost.cpu))
			}
		}
	}
	from = math.Floor(least)
	return from, max(math.Ceil(most), from+1)
}

// costPower returns the logarithm of a cost in milliseconds.
func costPower(d time.Duration) float64 {
	return math.Log10(float64(max(d, time.Microsecond)) / float64(time.Millisecond))
}

// sizes formats multiples, such as "1×, 10×, 100×".
func sizes(levels []int) string {
	parts := make([]string, len(levels))
	for i, level := range levels {
		parts[i] = fmt.Sprintf("%d×", level)
	}
	return strings.Join(parts, ", ")
}

func drawText(b *strings.Builder, class string, x, y int, anchor, content string) {
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d" text-anchor="%s">`, class, x, y, anchor)
	_ = xml.EscapeText(b, []byte(content)) // writing to a strings.Builder cannot fail
	b.WriteString("</text>\n")
}
