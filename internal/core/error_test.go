package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestErrorKeepsItsCauseForLogsOnly(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	err := fmt.Errorf("save thread: %w", NotFound("thread").Because(cause))
	if !errors.Is(err, cause) || !IsKind(err, KindNotFound) || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}
	if got := AsError(err); got.Code != "not_found" || strings.Contains(got.Detail, "fire") {
		t.Errorf("a caller would see %+v", got)
	}
}

func TestUnknownErrorsBecomeInternalWithoutDetails(t *testing.T) {
	t.Parallel()
	e := AsError(errors.New("password is hunter2"))
	if e.Kind != KindInternal || strings.Contains(e.Detail, "hunter2") {
		t.Errorf("got %+v", e)
	}
	if IsKind(nil, KindInternal) || IsKind(errors.New("x"), KindInternal) {
		t.Error("an unknown error must have no kind")
	}
}
