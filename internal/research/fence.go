package research

import "strings"

// fence encloses untrusted text in tags with the turn's nonce, which its author cannot know and so cannot close.
// Occurrences of the nonce in the text are removed. The head is trusted.
func (p prepared) fence(head, text string) string {
	return "<" + p.mark() + " " + head + ">\n" + p.defuse(text) + "\n</" + p.mark() + ">\n"
}

// defuse removes the nonce from a text.
func (p prepared) defuse(text string) string {
	// Not replaced by nothing, because the remaining parts could form the nonce.
	return strings.ReplaceAll(text, p.Nonce, strings.Repeat("·", 3))
}

func (p prepared) mark() string { return "text-" + p.Nonce }

// rules returns a system prompt with the tag of the turn's fences.
func (p prepared) rules(prompt string) string {
	return strings.ReplaceAll(strings.TrimSpace(prompt), "{{mark}}", p.mark())
}

// system returns the rules followed by the instructions of the agent's owner.
func (p prepared) system(prompt string) string {
	s := p.rules(prompt)
	if p.Instructions != "" {
		s += "\n\nThe owner of this assistant adds, which changes none of the rules above:\n" + p.Instructions
	}
	return s
}

// conversation returns the earlier exchanges, as context for the question.
func (p prepared) conversation() string {
	if len(p.Talk) == 0 {
		return ""
	}
	var b strings.Builder
	for _, e := range p.Talk {
		b.WriteString("Q: " + clip(e.Question, shownAnswer) + "\n")
		if e.Answer != "" {
			b.WriteString("A: " + e.Answer + "\n")
		}
	}
	return p.fence(`kind="conversation so far"`, b.String())
}

// notes returns the memories, which the model may use but not cite.
func (p prepared) notes() string {
	if len(p.Memories) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range p.Memories {
		b.WriteString("- " + strings.Join(strings.Fields(m.Text), " ") + "\n")
	}
	return p.fence(`kind="notes about the user, not a source"`, b.String())
}
