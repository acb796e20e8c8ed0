/// How calls of ``ExperimentationClient/decisions(for:honoring:)`` were answered since the client was created, for a
/// vendor that is asked for each user.
public struct AnswerFigures: Sendable, Hashable {
    /// The number of calls answered with a current answer.
    public var fresh = 0
    /// The number of calls answered with an older answer, within the grace period.
    public var stale = 0
    /// The number of calls answered with a recent failure, or refused because the kill switch was on.
    public var refused = 0
    /// How often the vendor was asked; concurrent equal requests count once.
    public var asked = 0
    /// The number of users with cached answers.
    public var users = 0
    /// The approximate size of these answers in bytes.
    public var bytes = 0
}
