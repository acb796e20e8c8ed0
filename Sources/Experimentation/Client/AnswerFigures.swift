/// How ``ExperimentationClient/decisions(for:honoring:)`` was answered by a vendor that is asked, since the client was created.
public struct AnswerFigures: Sendable, Hashable {
    /// How often by a current answer.
    public var fresh = 0
    /// How often by an older one, within the grace.
    public var stale = 0
    /// How often by a recent failure, or by the kill switch.
    public var refused = 0
    /// How often the vendor was asked; concurrent equal requests count once.
    public var asked = 0
    /// The number of users with cached answers.
    public var users = 0
    /// The approximate size of these answers in bytes.
    public var bytes = 0
}
