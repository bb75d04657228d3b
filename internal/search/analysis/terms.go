package analysis

// AppendNameTerms appends the terms of a title or of an author's name. Stop words are indexed there under marked terms,
// so that "The Who" can be found.
func (a *Analyser) AppendNameTerms(out []string, text string) []string {
	var extra Extra
	for token := range a.Tokens(text) {
		extra.Add(token)
		term := token.Term
		if token.Stop {
			mark, ok := a.marked[term]
			if !ok {
				mark = StopMark + term
				a.marked[term] = mark
			}
			term = mark
		}
		out = append(out, term)
	}
	return appendExtra(out, extra)
}

// AppendTextTerms appends the terms of a text. Stop words are not indexed but keep their position.
func (a *Analyser) AppendTextTerms(out []string, text string) []string {
	var extra Extra
	for token := range a.Tokens(text) {
		extra.Add(token)
		if token.Stop {
			out = append(out, "")
		} else {
			out = append(out, token.Term)
		}
	}
	return appendExtra(out, extra)
}

// appendExtra appends the extra terms after a gap, which keeps phrases from spanning both.
func appendExtra(out []string, extra Extra) []string {
	if len(extra.Terms) == 0 {
		return out
	}
	return append(append(out, ""), extra.Terms...)
}
