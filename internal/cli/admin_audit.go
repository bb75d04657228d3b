package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/core"
)

type auditCommands struct {
	List   auditList   `cmd:"" help:"List entries, newest first."`
	Verify auditVerify `cmd:"" help:"Check that no entry was changed, removed or inserted."`
}

type auditList struct {
	User   string `aliases:"email" placeholder:"EMAIL" help:"Only entries about this account."`
	Before int64  `placeholder:"SEQ" help:"Only entries before this one."`
	Limit  int    `default:"50" help:"Maximum number of entries. Default: 50."`
	JSON   bool   `help:"Print one JSON object: {\"entries\":[…]}."`
}

// Run lists entries.
func (c auditList) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	return parent.run(ctx, env, false, func(a admin) error {
		if c.Limit < 1 || c.Before < 0 {
			return core.InvalidField("/limit", "Must be 1 or more.")
		}
		userID := ""
		if c.User != "" {
			u, err := a.user(ctx, c.User)
			if err != nil {
				return err
			}
			userID = u.ID
		}
		entries, err := a.Audit.List(ctx, userID, c.Before, c.Limit)
		if err != nil {
			return err
		}
		return printList(a, c.JSON, "entries", entries, auditJSON,
			"SEQ\tAT\tEVENT\tACCOUNT\tBY\tFROM\tDETAIL", func(e audit.Entry) []string {
				return []string{
					strconv.FormatInt(e.Seq, 10), date(e.At), string(e.Event), orDash(e.UserID),
					orDash(e.Actor), orDash(e.Address), e.Detail,
				}
			})
	})
}

func auditJSON(e audit.Entry) map[string]any {
	return map[string]any{
		"seq": e.Seq, "at": date(e.At), "event": e.Event, "userId": e.UserID, "actor": e.Actor, "address": e.Address,
		"detail": json.RawMessage(e.Detail), "hash": hex.EncodeToString(e.Hash),
	}
}

type auditVerify struct {
	Noted string `placeholder:"SEQ:HASH" help:"The head printed by an earlier check. It must still be part of the log."`
	JSON  bool   `help:"Print one JSON object: {\"seq\":…,\"hash\":\"…\"}."`
}

// Run checks the log.
func (c auditVerify) Run(ctx context.Context, env *Env, parent *adminCommand) error {
	noted, err := parseNoted(c.Noted)
	if err != nil {
		return err
	}
	return parent.run(ctx, env, false, func(a admin) error {
		end, err := a.Audit.Verify(ctx, noted)
		if err != nil {
			return err
		}
		hash := hex.EncodeToString(end.Hash)
		return a.print(c.JSON, map[string]any{"seq": end.Seq, "hash": hash},
			"The audit log is intact: %d entries.\nStore this line elsewhere and pass it to the next check as --noted; it "+
				"reveals a log that was rewritten as a whole:\n%d:%s",
			end.Seq, end.Seq, hash)
	})
}

// parseNoted parses a head of the log in the form that verify prints.
func parseNoted(s string) (*audit.Head, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // the flag is optional
	}
	seq, hash, _ := strings.Cut(s, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	sum, err2 := hex.DecodeString(hash)
	if err != nil || err2 != nil || n < 1 || len(sum) == 0 {
		return nil, core.InvalidField("/noted", "Must have the form SEQ:HASH, as printed by an earlier check.")
	}
	return &audit.Head{Seq: n, Hash: sum}, nil
}
