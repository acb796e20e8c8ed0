import Experimentation

/// The flag by which a plan lets a vendor's console steer the move.
extension Migration {
    /// How long the flag's vendor is left alone where it doesn't answer users anyway.
    static let flagInterval = Duration.seconds(10)

    /// Whether the flag's vendor is to be asked now, beside; it isn't due again before a while.
    func isStageFlagDue() -> Bool { isStageFlagDue(every: Self.flagInterval) }

    /// Goes where the flag says, as `"shadow"` or `"live:0.25"`; what isn't a stage is left alone.
    func heed(_ text: String?) {
        guard let (stage, share) = Self.place(text) else { return }
        guard stage != self.stage || (share.map { $0 != self.share } ?? false) else { return }
        Task { try? await move(to: stage, share: share) }
    }

    /// What a flag's text means; `nil` if it names no stage, or its share is no number.
    static func place(_ text: String?) -> (stage: MigrationStage, share: Double?)? {
        let parts = (text ?? "").split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let stage = parts.first.flatMap({ MigrationStage(rawValue: $0) }) else { return nil }
        guard parts.count > 1 else { return (stage, nil) }
        guard let share = Double(parts[1]), share.isFinite, (0...1).contains(share) else { return nil }
        return (stage, share)
    }
}
