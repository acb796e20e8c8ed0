/// Where a move stands, as kept in the store.
struct Standing: Sendable, Hashable {
    /// A sample-ratio test that raised an alarm, with the weights that it tested: with other weights it is another test.
    struct Alarm: Sendable, Hashable, Codable {
        /// The old vendor's experiment, or ``Alarm/sides``.
        var test: String
        var weights: [String: Double]

        /// The test of the sides, whose weights follow from the share.
        static let sides = "sides"

        /// The alarm of the test of the sides at a share.
        static func sides(share: Double) -> Alarm {
            Alarm(test: sides, weights: [MigrationSide.old.rawValue: 1 - share, MigrationSide.new.rawValue: share])
        }
    }

    /// The name of the move; `nil` if it was written before moves had names.
    var move: String?
    var stage: MigrationStage
    var share: Double
    /// The stage of the plan under which this was written.
    var planned: MigrationStage
    var plannedShare: Double
    /// Whether the new vendor has assigned users on its own.
    var hasDealt = false
    /// The alarms that any instance has raised.
    var alarms: [Alarm] = []

    init(stage: MigrationStage, share: Double, of move: String? = nil) {
        self.move = move
        (self.stage, self.share) = (stage, share)
        (planned, plannedShare) = (stage, share)
    }

    /// Returns where the move stands under a plan: another stage in the plan overrides the stored one, but not what has
    /// happened to users.
    func under(_ plan: MigrationPlan) -> Standing {
        if planned == plan.stage, plannedShare == plan.share { return self }
        var standing = Standing(stage: plan.stage, share: plan.share, of: move)
        (standing.hasDealt, standing.alarms) = (hasDealt, alarms)
        return standing
    }
}

extension Standing: Codable {
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        move = try values.decodeIfPresent(String.self, forKey: .move)
        stage = try values.decode(MigrationStage.self, forKey: .stage)
        share = try values.decode(Double.self, forKey: .share)
        planned = try values.decode(MigrationStage.self, forKey: .planned)
        plannedShare = try values.decode(Double.self, forKey: .plannedShare)
        hasDealt = try values.decodeIfPresent(Bool.self, forKey: .hasDealt) ?? false
        alarms = try values.decodeIfPresent([Alarm].self, forKey: .alarms) ?? []
    }
}
