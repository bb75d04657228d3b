package transcript

// headingShift is how many levels the headings of answers are lowered, below those of the transcript.
const headingShift = 2

// document returns the whole transcript except its title as blocks, for the formats with pages.
func (t Transcript) document() []Block {
	var out []Block
	for _, m := range t.Messages {
		out = append(out, Block{Kind: Heading, Level: 2, Spans: plain(m.heading())})
		out = append(out, lowered(m.Blocks())...)
		for _, note := range m.Notes {
			out = append(out, Block{Kind: Paragraph, Spans: []Span{{Text: printable(note), Italic: true}}})
		}
		if len(m.Quotes) > 0 {
			out = append(out, Block{Kind: Paragraph, Spans: []Span{{Text: "Quotes", Bold: true}}})
			list := Block{Kind: BulletList}
			for _, q := range m.Quotes {
				list.Items = append(list.Items, []Block{{Kind: Paragraph, Spans: plain(q.line() + " (" + q.place() + ")")}})
			}
			out = append(out, list)
		}
		if m.Verdicts != "" {
			out = append(out, Block{
				Kind: Paragraph, Spans: append([]Span{{Text: "Sentences: ", Bold: true}}, plain(m.Verdicts)...),
			})
		}
		for _, problems := range m.Problems {
			out = append(out, Block{Kind: Paragraph, Spans: []Span{{Text: problems.Head, Bold: true}}})
			list := Block{Kind: BulletList}
			for _, sentence := range problems.Sentences {
				list.Items = append(list.Items, []Block{{Kind: Paragraph, Spans: plain(sentence)}})
			}
			out = append(out, list)
		}
	}
	if len(t.Works) == 0 {
		return out
	}
	works := Block{Kind: NumberedList, Start: 1}
	for _, entry := range t.Works {
		works.Items = append(works.Items, []Block{{Kind: Paragraph, Spans: EntrySpans(entry)}})
	}
	return append(out, Block{Kind: Heading, Level: 2, Spans: plain("Bibliography")}, works)
}

func plain(text string) []Span { return []Span{{Text: printable(text)}} }

// lowered returns blocks with lower headings.
func lowered(blocks []Block) []Block {
	for i := range blocks {
		if blocks[i].Kind == Heading {
			blocks[i].Level = min(6, blocks[i].Level+headingShift)
		}
		for _, item := range blocks[i].Items {
			lowered(item)
		}
	}
	return blocks
}
