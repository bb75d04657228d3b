package research

import (
	"strings"

	"carrel/internal/agent"
	"carrel/internal/language"
)

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

// system returns the rules followed by the settings and the instructions of the agent's owner.
func (p prepared) system(prompt string) string {
	s := p.rules(prompt)
	switch p.Settings.AnswerLength {
	case agent.AnswerShort:
		s += "\n\nKeep texts to one to three sentences."
	case agent.AnswerLong:
		s += "\n\nWrite in detail: explain the background and mention everything relevant in the quotes."
	}
	if code := p.Settings.Language; code != "" {
		name := code
		if l := language.Lookup(code); l != nil {
			name = l.Name
		}
		s += "\n\nWrite in this language, unless the user asks for another: " + name + "."
	}
	if p.Instructions != "" {
		s += "\n\nThe owner of this assistant adds, which changes none of the rules above:\n" + p.Instructions
	}
	return s
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
