package quote

import "testing"

func TestThresholdsDependOnTheLanguageOfTheQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, question, want string }{
		{"en", "Who wrote it?", "en"},
		{"de", "Wer schrieb „Über Brücken“?", "de"},
		{"ru", "Кто это написал?", "ru"},
		// The language of the sources is often not known, but the script is.
		{"en", "ใครเป็นคนเขียน", "th"},
		{"en", "谁写了这本书？", "zh"},
		{"en", "誰が書きましたか", "zh"},
		{"en", "누가 썼습니까?", "zh"},
		{"en", "Ποιος το έγραψε;", "el"},
		{"en", "इसे किसने लिखा?", "hi"},
		{"en", "Ai là người viết?", "vi"},
		{"ro", "Cine a fost înființat în București?", "ro"},
	} {
		got := thresholdsOf(c.language, c.question)
		if got.answered != answeredFrom[c.want] || got.closest > got.answered {
			t.Errorf("%q has the thresholds %+v, want %.2f", c.question, got, answeredFrom[c.want])
		}
	}
	if got := thresholdsOf("fi", "Kuka?"); got.answered != usualAnswered {
		t.Errorf("an unmeasured language has the thresholds %+v", got)
	}
}
