/// How long the answers of a vendor that is asked for each user are reused, for a server that is asked more often than
/// the vendor should be.
///
/// ``ExperimentationClient/decisions(for:honoring:)`` then asks only when it has no answer for the whole context: the
/// ids, the attributes, the consent, the earlier assignments and the overrides. Sessions have snapshots of their own
/// and aren't affected.
///
/// Once the vendor announces a change (``ProviderRoles/changes``), no answer to a request from before it is reused,
/// except while the vendor fails.
public struct AnswerReuse: Sendable, Hashable {
    /// How long an answer counts as current; less if the vendor's ``Freshness/lifetime`` is shorter.
    public var lifetime: Duration
    /// How long after that it is still returned at once, with reason ``Reason/stale``, while the vendor is asked once
    /// for a newer one; never if expired decisions count as absent.
    public var grace: Duration
    /// How long a failure is returned again, so that an unreachable vendor isn't asked for every request.
    public var failures: Duration

    /// Creates a policy.
    public init(
        lifetime: Duration = .seconds(10),
        grace: Duration = .seconds(60),
        failures: Duration = .seconds(2)
    ) {
        self.lifetime = lifetime
        self.grace = grace
        self.failures = failures
    }
}
