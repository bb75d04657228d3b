package research

import _ "embed" // the texts

// What models are told to do, in the role of the system: one file each, so that a change can be read. {{mark}} stands
// for the mark of a turn's fences.
var (
	//go:embed prompts/plan.txt
	planPrompt string
	//go:embed prompts/evidence.txt
	evidencePrompt string
	//go:embed prompts/answer.txt
	answerPrompt string
	//go:embed prompts/repair.txt
	repairPrompt string
)
