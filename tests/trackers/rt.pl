# Makes a queue, Incidents; a manager, a requestor who sees its tickets but no comments, and an outsider, who has an account and no
# rights. Prints their tokens. RT's scrips send a mail about each comment to the user watcher, the queue's AdminCc. The mail is a
# transaction of its own after the comment's.
use strict;
use warnings;
use lib '/usr/share/request-tracker5/lib';
use RT -init;
require RT::AuthToken;

my $system = RT->SystemUser;
my $queue = RT::Queue->new($system);
$queue->Create(Name => 'Incidents');
my %rights = (
    manager   => [qw(SeeQueue CreateTicket ShowTicket ShowTicketComments CommentOnTicket ModifyTicket OwnTicket)],
    requestor => [qw(SeeQueue ShowTicket)],
    outsider  => [],
);
for my $name (sort keys %rights) {
    my $user = RT::User->new($system);
    $user->Create(Name => $name, EmailAddress => "$name\@example.test", Privileged => 1);
    $user->PrincipalObj->GrantRight(Object => $queue, Right => $_) for @{ $rights{$name} };
    my ($ok, $message, $token) = RT::AuthToken->new($system)->Create(Owner => $user->id, Description => 'test');
    print "RT_TOKEN_$name=$token\n";
}
my $watcher = RT::User->new($system);
$watcher->Create(Name => 'watcher', EmailAddress => 'watcher@example.test', Privileged => 1);
my ($ok, $message) = $queue->AddWatcher(Type => 'AdminCc', PrincipalId => $watcher->PrincipalId);
die $message unless $ok;
