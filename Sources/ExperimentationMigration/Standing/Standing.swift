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

    /// The stage and share of a plan.
    struct Planned: Sendable, Hashable, Codable {
        var stage: MigrationStage
        var share: Double
        /// The plan's revision; `nil` for the first one.
        var revision: Int?

        init(_ stage: MigrationStage, share: Double, revision: Int? = nil) {
            (self.stage, self.share) = (stage, share)
            self.revision = revision == 0 ? nil : revision
        }

        init(_ plan: MigrationPlan) { self.init(plan.stage, share: plan.share, revision: plan.revision) }
    }

    /// The name of the move; `nil` if it was written before moves had names.
    var move: String?
    var stage: MigrationStage
    var share: Double
    /// The plans that have been applied, the last one at the end; never empty.
    private(set) var plans: [Planned]
    /// Whether the move has been in a stage that sends the new vendor events.
    private(set) var hasReachedNew: Bool
    /// The new vendor's account; `nil` if it was written before records named it.
    var account: String?
    /// The accounts of former moves' new vendors that may have users' events.
    private(set) var reached: Set<String> = []
    /// Whether the new vendor has assigned users on its own.
    var hasDealt = false
    /// The last value of the stage flag; `nil` if none was followed.
    var flag: FollowedFlag?
    /// The alarms that any instance has raised.
    var alarms: [Alarm] = []
    /// How many applied plans are remembered; with more plans, instances of the oldest one would have to be long gone.
    private static let mostPlans = 8

    /// Where users are before any plan has been applied.
    static let notBegun = Standing(stage: .off, share: 0)

    init(stage: MigrationStage, share: Double) { self.init(Planned(stage, share: share), of: nil) }

    /// Begins with a plan.
    init(_ plan: MigrationPlan, of move: String? = nil) { self.init(Planned(plan), of: move) }

    private init(_ planned: Planned, of move: String?) {
        self.move = move
        (stage, share) = (planned.stage, planned.share)
        plans = [planned]
        hasReachedNew = stage.sendsEvents(to: .new)
    }

    /// Takes over which vendors may have users' events after a former move; nothing else of that move stays.
    mutating func begin(after former: Standing) {
        reached = former.reached
        // If the record doesn't name the vendor, it may have been this one.
        if former.hasReachedNew, let other = former.account ?? account { reached.insert(other) }
        if let account, reached.contains(account) { hasReachedNew = true }
    }

    /// Goes to another stage and share.
    mutating func go(to stage: MigrationStage, share: Double) {
        (self.stage, self.share) = (stage, share)
        if stage.sendsEvents(to: .new) { hasReachedNew = true }
    }

    /// Goes to the stage and share of a plan, which then counts as the last one applied.
    mutating func apply(_ plan: MigrationPlan) {
        let planned = Planned(plan)
        go(to: plan.stage, share: plan.share)
        plans = (plans.filter { $0 != planned } + [planned]).suffix(Self.mostPlans)
    }

    /// Counts a plan as applied before the last one, because what came after it was written earlier.
    mutating func passOver(_ plan: MigrationPlan) {
        let planned = Planned(plan)
        if plans.contains(planned) { return }
        plans = (plans.dropLast() + [planned] + plans.suffix(1)).suffix(Self.mostPlans)
    }

    /// Whether another plan or a move has led elsewhere since.
    func hasGoneOn(since origin: Standing) -> Bool {
        plans.last != origin.plans.last || stage != origin.stage || share != origin.share
    }

    /// Whether a vendor may have users' events: the old one has them from before the move.
    func hasReached(_ side: MigrationSide) -> Bool { side == .old || hasReachedNew }

    /// Returns where the move stands under a plan: the stage of a plan that hasn't been applied yet overrides the
    /// stored one, but not what has happened to users.
    ///
    /// The stage of an applied plan doesn't override it, even if the plan isn't the last one: while instances are
    /// replaced, some have an earlier plan. Nor does the stage of a plan that comes late.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - origin: Where the move stood when the plan came; `nil` if that isn't known.
    /// - Returns: Where the move stands.
    func under(_ plan: MigrationPlan, since origin: Standing? = nil) -> Standing {
        if plans.contains(Planned(plan)) { return self }
        var standing = self
        if let origin, hasGoneOn(since: origin) { standing.passOver(plan) } else { standing.apply(plan) }
        return standing
    }

    /// Whether a plan was applied, and another one or a move since then led elsewhere.
    func hasLeft(_ plan: MigrationPlan) -> Bool {
        let planned = Planned(plan)
        return plans.last != planned && plans.contains(planned) && (plan.stage, plan.share) != (stage, share)
    }
}

extension Standing: Codable {
    /// The last plan is stored separately, where earlier versions of the library expect it.
    private enum CodingKeys: CodingKey {
        case move, stage, share, planned, plannedShare, plannedRevision, plans, hasReachedNew, hasDealt, flag, alarms
        case account, reached
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        move = try values.decodeIfPresent(String.self, forKey: .move)
        stage = try values.decode(MigrationStage.self, forKey: .stage)
        share = try values.decode(Double.self, forKey: .share)
        let last = Planned(
            try values.decode(MigrationStage.self, forKey: .planned),
            share: try values.decode(Double.self, forKey: .plannedShare),
            revision: try values.decodeIfPresent(Int.self, forKey: .plannedRevision)
        )
        plans = try (values.decodeIfPresent([Planned].self, forKey: .plans) ?? []).filter { $0 != last } + [last]
        // A record without this value may be of a move that has sent the new vendor events.
        hasReachedNew = try values.decodeIfPresent(Bool.self, forKey: .hasReachedNew) ?? true
        account = try values.decodeIfPresent(String.self, forKey: .account)
        reached = try values.decodeIfPresent(Set<String>.self, forKey: .reached) ?? []
        hasDealt = try values.decodeIfPresent(Bool.self, forKey: .hasDealt) ?? false
        flag = try values.decodeIfPresent(FollowedFlag.self, forKey: .flag)
        alarms = try values.decodeIfPresent([Alarm].self, forKey: .alarms) ?? []
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(move, forKey: .move)
        try values.encode(stage, forKey: .stage)
        try values.encode(share, forKey: .share)
        try values.encodeIfPresent(plans.last?.stage, forKey: .planned)
        try values.encodeIfPresent(plans.last?.share, forKey: .plannedShare)
        try values.encodeIfPresent(plans.last?.revision, forKey: .plannedRevision)
        try values.encode(Array(plans.dropLast()), forKey: .plans)
        try values.encode(hasReachedNew, forKey: .hasReachedNew)
        try values.encodeIfPresent(account, forKey: .account)
        try values.encode(reached.sorted(), forKey: .reached)
        try values.encode(hasDealt, forKey: .hasDealt)
        try values.encodeIfPresent(flag, forKey: .flag)
        try values.encode(alarms, forKey: .alarms)
    }
}
