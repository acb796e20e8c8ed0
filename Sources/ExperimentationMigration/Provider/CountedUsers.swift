import Experimentation

/// Users already counted, in bounded memory.
///
/// When full, it keeps only users whose hash ends in one more zero bit. The hash ignores variations, so the test stays
/// valid.
struct CountedUsers {
    private let limit: Int
    /// The stages in which a user was counted, by the user's mark; a bit for each stage.
    private var stages: [UInt64: UInt8] = [:]
    /// The bits that are zero in the marks of users who count.
    private var mask: UInt64 = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    /// Counts a user in an experiment.
    ///
    /// - Returns: Whether this is the first time ever, and the first time in the stage; neither for a user who doesn't count.
    mutating func count(
        _ user: String,
        in experiment: String,
        at stage: MigrationStage
    ) -> (ever: Bool, inStage: Bool) {
        let mark = Self.mark(user, experiment)
        guard mark & mask == 0 else { return (false, false) }
        let before = stages[mark] ?? 0
        let bit: UInt8 = 1 << UInt8(stage.order)
        guard before & bit == 0 else { return (false, false) }
        stages[mark] = before | bit
        while stages.count > limit {
            mask = mask << 1 | 1
            stages = stages.filter { $0.key & mask == 0 }
        }
        return (before == 0, true)
    }

    private static func mark(_ user: String, _ experiment: String) -> UInt64 {
        Digest.sha256(Array("migration/counted/\(experiment)\u{0}\(user)".utf8)).prefix(8)
            .reduce(0) { $0 << 8 | UInt64($1) }
    }
}
