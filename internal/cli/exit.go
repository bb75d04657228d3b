package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"carrel/client"
)

// Exit codes. Scripts rely on them; docs/cli.md lists them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// exitSignIn means that there is no credential, or that the server refuses it.
	exitSignIn    = 3
	exitForbidden = 4
	exitNotFound  = 5
	// exitLimited covers conflicts, rate limits, quotas, plans and spend caps.
	exitLimited     = 6
	exitUnavailable = 7
	// exitInterrupted is the code that shells use for SIGINT.
	exitInterrupted = 130
)

// commandError is an error of a client command with its exit code and the next command to run.
type commandError struct {
	message string
	code    int
	// hint is a command or a sentence, printed on its own line.
	hint string
}

// Error returns the message.
func (e *commandError) Error() string { return e.message }

// exitCodeOf returns the exit code of an error.
func exitCodeOf(err error) int {
	if e, ok := errors.AsType[*commandError](err); ok {
		return e.code
	}
	if errors.Is(err, client.ErrSignInEnded) {
		return exitSignIn
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return exitCodeOfStatus(e)
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return exitUnavailable
	}
	return exitFailed
}

func exitCodeOfStatus(e *client.Error) int {
	switch e.Status {
	case http.StatusUnauthorized:
		return exitSignIn
	case http.StatusForbidden:
		if e.Code == client.CodeQuotaExceeded {
			return exitLimited
		}
		return exitForbidden
	case http.StatusNotFound, http.StatusGone:
		return exitNotFound
	case http.StatusPaymentRequired, http.StatusConflict, http.StatusTooManyRequests, http.StatusUnprocessableEntity:
		return exitLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnavailable
	}
	return exitFailed
}

// hintOf returns what to run next after an error, or an empty text.
func hintOf(err error) string {
	if e, ok := errors.AsType[*commandError](err); ok {
		return e.hint
	}
	if errors.Is(err, client.ErrSignInEnded) {
		return "Run: carrel login"
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return hintOfProblem(e)
	}
	if _, ok := errors.AsType[*url.Error](err); ok && !errors.Is(err, context.Canceled) {
		return "Check that the server runs and that its address is right: carrel profiles"
	}
	return ""
}

func hintOfProblem(e *client.Error) string {
	switch e.Code {
	case client.CodeMissingCredential, client.CodeInvalidCredential:
		return "Run: carrel login"
	case client.CodeInsufficientScope:
		return "This needs an API key with more scopes. Create one in the settings and run: carrel login --key"
	case client.CodeTurnWorking:
		return "Follow the running turn: carrel ask --resume last"
	case client.CodeNoSubscription, client.CodeSpendCapReached:
		return "See the plan in the settings: carrel open settings"
	case client.CodeNotFound:
		return "List the ids: carrel agents, carrel threads"
	}
	return ""
}
