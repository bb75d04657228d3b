package model_test

import (
	"errors"
	"testing"

	"carrel/internal/model"
)

func TestErrorResponsesOfServersAreClassified(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		body   string
		want   error
	}{
		{
			400, `{"error":{"code":400,"message":"the request exceeds the available context size",` +
				`"type":"exceed_context_size_error"}}`, model.ErrTooLong,
		},
		{500, `{"error":{"code":500,"message":"context size exceeded","type":"server_error"}}`, model.ErrTooLong},
		{404, `{"error":"model \"llama9\" not found, try pulling it first"}`, model.ErrUnknownModel},
		{
			400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.",` +
				`"status":"INVALID_ARGUMENT"}}]`, model.ErrKey,
		},
		{
			429, `[{"error":{"code":429,"message":"Check your plan and billing details","status":"RESOURCE_EXHAUSTED"}}]`,
			model.ErrRateLimited,
		},
		{
			400, `{"object":"error","message":"This model's maximum context length is 4096 tokens",` +
				`"type":"BadRequestError","code":400}`, model.ErrTooLong,
		},
		{400, `{"error":{"message":"no/such is not a valid model ID","code":400}}`, model.ErrUnknownModel},
		{502, `<html>Bad gateway</html>`, model.ErrProvider},
		{400, ``, model.ErrRequest},
		{418, `null`, model.ErrRequest},
	} {
		if got := model.Classify(tc.status, tc.body); !errors.Is(got, tc.want) {
			t.Errorf("%d %s: %v, want %v", tc.status, tc.body, got, tc.want)
		}
	}
}

func FuzzErrorResponses(f *testing.F) {
	f.Add(`{"error":{"code":400}}`)
	f.Add(`[]`)
	f.Add(`{"error":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		if model.Classify(400, body) == nil {
			t.Error("no error")
		}
	})
}
