package transcript

import (
	"testing"

	"carrel/internal/thread"
)

func TestExportNamesTheVerdictAfterEachSentenceWithAProblem(t *testing.T) {
	t.Parallel()
	m := Message{text: "Gödel wrote it. It is old.\n\n- Nobody knows.\n- All agree."}
	m.checks = []thread.Check{
		{Start: 46, End: 56, State: thread.Unsupported},
		{Start: 0, End: 15, State: thread.Contradicted},
		{Start: 16, End: 26, State: thread.Quoted},
		{Start: 30, End: 43, State: thread.Uncited},
		{Start: 50, End: 900, State: thread.Contradicted}, // beyond the text
	}
	want := "Gödel wrote it. [≠ contradicted] It is old.\n\n- Nobody knows. [∅ without a citation]\n" +
		"- All agree. [? not supported]"
	if got := withVerdicts(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := withVerdicts(Message{text: "Nothing judged."}); got != "Nothing judged." {
		t.Errorf("without checks it is %q", got)
	}
}
