package upstream

import (
	"context"
	"errors"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// skew is the tolerated difference between the clocks of the provider and the server.
const skew = time.Minute

// finishProof verifies that the identity is linked to the user of the session and that the provider authenticated them
// after the request began.
func (s *Service) finishProof(ctx context.Context, a Arrival, c claims, request authRequest) (Arrival, error) {
	user, err := s.store.UserByIdentity(ctx, s.identity(c))
	switch {
	case core.IsKind(err, core.KindNotFound), err == nil && user.ID != a.UserID:
		return a, ErrRefused.Because(errors.New("another user signed in at the provider"))
	case err != nil:
		return a, err
	case time.Unix(c.AuthTime, 0).Before(request.BegunAt.Add(-skew)):
		return a, ErrRefused.Because(errors.New("provider did not authenticate the user again"))
	}
	a.User = user
	return a, nil
}

func (s *Service) identity(c claims) Identity {
	return Identity{Issuer: s.opts.Issuer, Subject: c.Subject}
}

// accountOf returns the account of an identity: the linked one, else the one with the same verified address, which is
// then linked, else a new one if sign-up is allowed. A link takes precedence over the address, because addresses are
// reassigned when people leave. The identity is returned if the caller must link it.
func (s *Service) accountOf(ctx context.Context, c claims) (account.User, Identity, error) {
	user, err := s.store.UserByIdentity(ctx, s.identity(c))
	var unlinked Identity
	if core.IsKind(err, core.KindNotFound) {
		user, unlinked, err = s.firstSignIn(ctx, c)
	}
	switch {
	case err != nil:
		return account.User{}, Identity{}, err
	case user.DisabledAt != nil:
		return account.User{}, Identity{}, errDisabled
	}
	return user, unlinked, nil
}

// firstSignIn finds or creates the account of an identity that is not linked yet. Only an account with a verified
// address is linked right away. An address chosen by the account's user may belong to someone else, who could then sign
// in to that account.
func (s *Service) firstSignIn(ctx context.Context, c claims) (account.User, Identity, error) {
	if !c.Verified || c.Email == "" {
		return account.User{}, Identity{}, errUnverified
	}
	user, err := s.store.UserByEmail(ctx, account.NormalEmail(c.Email))
	switch {
	case core.IsKind(err, core.KindNotFound) && s.opts.SignUp:
		user, err = s.signUp(ctx, c)
		return user, Identity{}, err
	case core.IsKind(err, core.KindNotFound):
		return account.User{}, Identity{}, errNoAccount
	case err != nil:
		return account.User{}, Identity{}, err
	case user.DisabledAt != nil:
		return account.User{}, Identity{}, errDisabled
	case !user.EmailVerified:
		return user, s.identity(c), nil
	}
	return user, Identity{}, s.Link(ctx, s.identity(c), user.ID)
}

// Link links an identity to an account, so that the identity can sign in to it.
func (s *Service) Link(ctx context.Context, id Identity, userID string) error {
	err := s.store.LinkIdentity(ctx, id, userID, s.clock.Now())
	if core.IsKind(err, core.KindConflict) {
		return errOtherOwner.Because(err)
	}
	if err != nil {
		return err
	}
	s.audit.Note(ctx, audit.Record{
		Event: audit.UpstreamLinked, UserID: userID, Detail: map[string]string{"issuer": id.Issuer},
	})
	return nil
}

func (s *Service) signUp(ctx context.Context, c claims) (account.User, error) {
	name := strings.TrimSpace(c.Name)
	if name == "" {
		name, _, _ = strings.Cut(c.Email, "@")
	}
	user, err := account.NewMemberWithoutPassword(c.Email, name, s.opts.Plan, s.clock.Now())
	if err != nil {
		return account.User{}, errUnverified.Because(err)
	}
	if err := s.store.InsertUserWithIdentity(ctx, user, s.identity(c)); err != nil {
		return account.User{}, err
	}
	s.audit.Note(ctx, audit.Record{
		Event: audit.UserCreated, UserID: user.ID, Detail: map[string]string{"issuer": s.opts.Issuer},
	})
	return user, nil
}
