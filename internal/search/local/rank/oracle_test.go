package rank

import (
	"cmp"
	"slices"
	"strings"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
	"carrel/internal/search/scoring"
)

// oracle computes the answer by brute force: it scores every unit of every document, with maps and without segments,
// bounds or windows. It shares only the formula of a single score with the engine.
type oracle struct {
	read      map[*segment.Unit]reading // cached between requests
	documents []segment.Document        // live documents, by source and seq
	request   Request
	units     int
	satur     scoring.Saturation
	holders   map[string]int
	mass      uint32
}

// finding is a scored document.
type finding struct {
	doc    *segment.Document
	unit   int
	score  points
	held   uint32
	named  bool
	listed bool
}

// reading holds the term counts of a unit.
type reading struct {
	frequencies map[string]int
	length      uint32
}

func (o *oracle) reading(u *segment.Unit) reading {
	out, ok := o.read[u]
	if !ok {
		out = reading{frequencies: frequencies(u), length: unitLength(u)}
		o.read[u] = out
	}
	return out
}

func newOracle(documents []segment.Document, read map[*segment.Unit]reading, r Request) *oracle {
	o := &oracle{read: read, request: r, holders: make(map[string]int)}
	var length uint32
	for _, d := range documents {
		if !slices.Contains(r.Sources, d.SourceID) {
			continue
		}
		o.documents = append(o.documents, d)
		for i := range d.Units {
			o.units++
			unit := o.reading(&d.Units[i])
			length += unit.length
			for _, t := range r.Parsed.Terms {
				if unit.frequencies[t.Text] > 0 {
					o.holders[t.Text]++
				}
			}
		}
	}
	slices.SortFunc(o.documents, func(x, y segment.Document) int {
		return cmp.Or(cmp.Compare(x.SourceID, y.SourceID), cmp.Compare(x.Seq, y.Seq))
	})
	average := 0.0
	if o.units > 0 {
		average = float64(length) / float64(o.units)
	}
	o.satur = scoring.NewSaturation(average)
	for _, t := range r.Parsed.Terms {
		if n := o.holders[t.Text]; n > 0 {
			o.mass += scoring.Mass(t.Count, scoring.IDF(o.units, n))
		}
	}
	return o
}

func isStop(term string) bool { return strings.HasPrefix(term, analysis.StopMark) }

func unitLength(u *segment.Unit) uint32 {
	n := uint32(0)
	for _, term := range u.Title {
		if term != "" && !isStop(term) {
			n += 3
		}
	}
	for _, term := range u.Text {
		if term != "" && !isStop(term) {
			n++
		}
	}
	return n
}

func frequencies(u *segment.Unit) map[string]int {
	out := make(map[string]int)
	for _, field := range []struct {
		terms  []string
		weight int
	}{{u.Title, 3}, {u.Text, 1}, {u.Authors, 1}} {
		for _, term := range field.terms {
			if term != "" {
				out[term] = min(255, out[term]+field.weight)
			}
		}
	}
	return out
}

func (o *oracle) gain(t query.Term) float64 {
	return float64(t.Count) * scoring.IDF(o.units, o.holders[t.Text]) * (scoring.K1 + 1) * float64(one)
}

// find scores all documents and returns those that match, in their order.
func (o *oracle) find() []finding {
	var out []finding
	for i := range o.documents {
		d := &o.documents[i]
		if !o.satisfies(d) {
			continue
		}
		f := finding{doc: d, score: -1}
		q := &o.request.Parsed
		f.named = q.TitleKey != 0 && d.TitleKey == q.TitleKey
		terms := make(map[string]bool)
		for u := range d.Units {
			sum := points(0)
			unit := o.reading(&d.Units[u])
			has := unit.frequencies
			for _, t := range q.Terms {
				if has[t.Text] > 0 {
					terms[t.Text] = true
					sum += scoring.Score(o.gain(t), uint8(has[t.Text]), o.satur.Norm(unit.length))
				}
			}
			if sum > f.score {
				f.unit, f.score = u, sum
			}
		}
		for _, t := range q.Terms {
			if terms[t.Text] {
				f.held += scoring.Mass(t.Count, scoring.IDF(o.units, o.holders[t.Text]))
			}
		}
		if f.score > 0 || f.named {
			out = append(out, f)
		}
	}
	return out
}

func (o *oracle) satisfies(d *segment.Document) bool {
	holds := func(c query.Clause) bool {
		return slices.ContainsFunc(d.Units, func(u segment.Unit) bool { return unitHolds(&u, c) })
	}
	for _, c := range o.request.Parsed.Require {
		if !holds(c) {
			return false
		}
	}
	return !slices.ContainsFunc(o.request.Parsed.Exclude, holds)
}

func unitHolds(u *segment.Unit, c query.Clause) bool {
	fields := map[query.Field][][]string{
		query.Any: {u.Title, u.Text, u.Authors}, query.Title: {u.Title}, query.Author: {u.Authors}, query.Text: {u.Text},
	}[c.Field]
	if c.Field == query.Author {
		for name := range strings.SplitSeq(" "+strings.Join(u.Authors, " ")+" ", "  ") {
			words := strings.Fields(name)
			if len(words) > 0 && !slices.ContainsFunc(c.Terms, func(want string) bool {
				return want != "" && !slices.Contains(words, want)
			}) {
				return true
			}
		}
		return false
	}
	for _, field := range fields {
		for i := 0; i+len(c.Terms) <= len(field); i++ {
			same := true
			for j, want := range c.Terms {
				same = same && (want == "" || field[i+j] == want)
			}
			if same {
				return true
			}
		}
	}
	return false
}

// answer is an Answer with document ids instead of views and ordinals.
type answer struct {
	IDs             []string
	Units           []int
	Scores          []float64
	Total           int
	Years           []search.YearCount
	Sources         []search.SourceCount
	UndatedExcluded int
}

func (o *oracle) answer() answer {
	var out answer
	found := o.find()
	within := func(year int) bool {
		r := &o.request
		return r.FromYear == 0 && r.ToYear == 0 || year != 0 && year >= r.FromYear && (r.ToYear == 0 || year <= r.ToYear)
	}
	// By words alone first, to determine which documents are reranked.
	words := slices.Clone(found)
	words = slices.DeleteFunc(words, func(f finding) bool { return f.score <= 0 || !within(f.doc.Year) })
	slices.SortStableFunc(words, func(x, y finding) int { return cmp.Compare(y.score, x.score) })
	words = words[:min(len(words), max(scoring.RerankDepth, o.request.Limit))]
	for i := range words {
		words[i].score += o.nearness(&words[i].doc.Units[words[i].unit])
		words[i].listed = true
	}
	for _, f := range found {
		if f.named && within(f.doc.Year) && !slices.ContainsFunc(words, func(w finding) bool { return w.doc == f.doc }) {
			words = append(words, f)
		}
	}
	// Findings point into one slice, in order.
	place := make(map[*segment.Document]int)
	for i, f := range found {
		place[f.doc] = i
	}
	order := func(f finding) int { return place[f.doc] }
	slices.SortStableFunc(words, func(x, y finding) int {
		if x.named != y.named {
			if x.named {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(order(x), order(y)))
	})
	listed := words[:min(len(words), o.request.Limit)]
	for i := len(listed) - 2; i >= 0; i-- {
		listed[i].score = max(listed[i].score, listed[i+1].score)
	}
	for _, f := range listed {
		out.IDs = append(out.IDs, f.doc.ID)
		out.Units = append(out.Units, f.unit)
		out.Scores = append(out.Scores, f.score.Float())
	}
	o.count(&out, found, listed, within)
	return out
}

func (o *oracle) count(out *answer, found, listed []finding, within func(int) bool) {
	years, sources := make(map[int]int), make(map[string]int)
	for _, f := range found {
		strong := o.mass > 0 && 2*uint64(f.held) >= uint64(o.mass)
		isListed := slices.ContainsFunc(listed, func(l finding) bool { return l.doc == f.doc })
		switch {
		case !strong && !isListed && !f.named:
		case within(f.doc.Year):
			if o.request.Facets {
				out.Total++
				years[f.doc.Year]++
				sources[f.doc.SourceID]++
			}
		case f.doc.Year == 0:
			out.UndatedExcluded++
		}
	}
	for year, n := range years {
		if year != 0 {
			out.Years = append(out.Years, search.YearCount{Year: year, Count: n})
		}
	}
	slices.SortFunc(out.Years, func(x, y search.YearCount) int { return x.Year - y.Year })
	for source, n := range sources {
		out.Sources = append(out.Sources, search.SourceCount{SourceID: source, Count: n})
	}
	slices.SortFunc(out.Sources, func(x, y search.SourceCount) int { return strings.Compare(x.SourceID, y.SourceID) })
}

// nearness returns the proximity score of a unit.
func (o *oracle) nearness(u *segment.Unit) points {
	var words []string
	for _, term := range slices.Concat(u.Title, u.Text) {
		if term != "" && (o.request.Parsed.Stops || !isStop(term)) {
			words = append(words, term)
		}
	}
	q := &o.request.Parsed
	norm := o.satur.Norm(o.reading(u).length)
	sum := points(0)
	for i := 1; i < len(q.Sequence); i++ {
		first, second := q.Terms[q.Sequence[i-1]].Text, q.Terms[q.Sequence[i]].Text
		if first == second || o.holders[first] == 0 || o.holders[second] == 0 {
			continue
		}
		adjacent, within := 0, 0
		for x := range words {
			for y := range words {
				if words[x] == first && words[y] == second {
					if y == x+1 {
						adjacent++
					}
					if y >= x-8 && y <= x+8 {
						within++
					}
				}
			}
		}
		weight := (scoring.IDF(o.units, o.holders[first]) + scoring.IDF(o.units, o.holders[second])) / 2
		worth := 0.4 * weight * (scoring.K1 + 1) * float64(one)
		sum += scoring.Score(worth*0.67, uint8(min(adjacent, 255)), norm)
		sum += scoring.Score(worth*0.33, uint8(min(within, 255)), norm)
	}
	return sum
}
