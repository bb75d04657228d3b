package research

import _ "embed"

// The system prompts. {{mark}} is replaced by the tag of the turn's fences.
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
