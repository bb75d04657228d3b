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
	//go:embed prompts/judge.txt
	judgePrompt string
	//go:embed prompts/talk.txt
	talkPrompt string
	//go:embed prompts/transform.txt
	transformPrompt string
	//go:embed prompts/summary.txt
	summaryPrompt string
	//go:embed prompts/outline.txt
	outlinePrompt string
	//go:embed prompts/section.txt
	sectionPrompt string
	//go:embed prompts/disagree.txt
	disagreePrompt string
)
