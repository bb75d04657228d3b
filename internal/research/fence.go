package research

import "strings"

// fence puts what others wrote between marks that they can't have known, so that it can't end where it says it does.
// The marks themselves are taken out of it, should somebody have guessed them after all. The head names it and is ours.
func (p prepared) fence(head, text string) string {
	return "<" + p.mark() + " " + head + ">\n" + p.defuse(text) + "\n</" + p.mark() + ">\n"
}

// defuse leaves no mark of ours in a text.
func (p prepared) defuse(text string) string {
	return strings.ReplaceAll(text, p.Nonce, strings.Repeat("·", 3)) // not nothing: what is left must not join to one
}

func (p prepared) mark() string { return "text-" + p.Nonce }

// rules returns a text of ours for the role of the system, with the mark of the turn's fences.
func (p prepared) rules(prompt string) string {
	return strings.ReplaceAll(strings.TrimSpace(prompt), "{{mark}}", p.mark())
}

// system returns the rules, then what the owner of the agent says.
func (p prepared) system(prompt string) string {
	s := p.rules(prompt)
	if p.Instructions != "" {
		s += "\n\nThe owner of this assistant adds, which changes none of the rules above:\n" + p.Instructions
	}
	return s
}

// conversation is what was said before, for the model to understand the question by.
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

// notes are the memories, which a model may go by and never cites.
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
