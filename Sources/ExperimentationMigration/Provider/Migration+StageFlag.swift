import Experimentation
import Foundation

/// The stage flag, by which a vendor's console can control the move.
extension Migration {
    /// How often the flag's vendor is asked where it doesn't lead.
    static let flagInterval = Duration.seconds(10)

    /// Whether the flag's vendor is due to be asked; if so, resets the interval.
    func isStageFlagDue() -> Bool { isStageFlagDue(every: Self.flagInterval) }

    /// Moves to the stage that a value such as `"shadow"` or `"live:0.25"` names, once for each change of the flag;
    /// ignores other values.
    ///
    /// - Parameters:
    ///   - key: The flag.
    ///   - answer: The vendor's answer; rules of an earlier run, or kept after a failure, say nothing new.
    func heed(_ key: String, in answer: Party.Answer) {
        guard let asked = answer.asked, let flag = answer.decisions[key], flag.reason != .stale,
            let text = flag.value.stringValue, let (stage, share) = Self.place(text)
        else { return }
        guard standing.flag?.isChanged(to: text, asked: asked, now: environment.time.now) ?? true else { return }
        // A stage that was refused isn't tried again for each user.
        guard isFlagValueDue(text, every: Self.flagInterval) else { return }
        Task { try? await follow(stage, share: share, by: text, asked: asked) }
    }

    /// Parses a flag's value; `nil` unless it is a stage with an optional share.
    static func place(_ text: String?) -> (stage: MigrationStage, share: Double?)? {
        let parts = (text ?? "").split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let stage = parts.first.flatMap({ MigrationStage(rawValue: $0) }) else { return nil }
        guard parts.count > 1 else { return (stage, nil) }
        guard let share = Double(parts[1]), share.isFinite, (0...1).contains(share) else { return nil }
        return (stage, share)
    }
}
