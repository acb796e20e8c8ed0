import Experimentation

extension SubjectPart {
    /// Whether it decides experiments.
    var decidesExperiments: Bool { decides && subject.capabilities.contains(.experiments) }

    /// Whether it honors earlier assignments, where it decides on this device.
    var keepsPlaces: Bool { subject.capabilities.isSuperset(of: [.stickyAssignments, .localEvaluation]) }

    /// Whether it can be told which variations its users have: by earlier assignments, or by overrides.
    var canBeTold: Bool { keepsPlaces || subject.capabilities.contains(.overrides) }
}

extension MoveSight {
    /// The move's stage and share.
    var place: String { "\(stage.rawValue) \(share)" }
}

/// A user of a case about moving, as seen at one visit.
struct MoveVisit: Sendable, Hashable, CustomStringConvertible {
    /// The vendor that answered.
    var vendor: String?
    /// The value of the experiment's flag.
    var color: String

    var description: String { "\(color) from \(vendor ?? "nobody")" }
}

extension Probe {
    /// The move behind the subject.
    ///
    /// - Throws: ``CaseDoesNotApply`` if there is none.
    func move() throws -> any SubjectMove {
        guard let move = stage.move else { throw CaseDoesNotApply("it is no move") }
        return move
    }

    /// The move, if both of its vendors decide.
    ///
    /// - Parameter experiments: Whether they must decide experiments.
    /// - Returns: The move.
    /// - Throws: ``CaseDoesNotApply`` if a vendor doesn't.
    func decidingMove(experiments: Bool = false) throws -> any SubjectMove {
        let move = try move()
        for part in [move.old, move.new] where !(experiments ? part.decidesExperiments : part.decides) {
            throw CaseDoesNotApply("\(part.name) decides no \(experiments ? "experiments" : "flags")")
        }
        return move
    }

    /// The move, if both of its vendors decide experiments and the new one can be told its users' variations.
    ///
    /// Reverses the new vendor's variations, so that moves between vendors with the same hash have something to keep.
    func carryingMove() async throws -> any SubjectMove {
        let move = try decidingMove(experiments: true)
        guard move.new.canBeTold else {
            throw CaseDoesNotApply("\(move.new.name) can't be told which variations users have")
        }
        try await turn(move.new)
        return move
    }

    /// Reverses the order of a vendor's variations.
    func turn(_ part: SubjectPart) async throws {
        note("\(part.name) deals the other way round")
        try await part.stage.change(
            to: world.changing { world in
                for index in world.experiments.indices { world.experiments[index].variations.reverse() }
            }
        )
    }

    /// Starts a client at a stage in which both vendors get events.
    ///
    /// - Returns: The vendors, with the client's accounts.
    /// - Throws: ``CaseDoesNotApply`` unless both take events.
    func startTelling(_ plan: MovePlan) async throws -> [SubjectPart] {
        let move = try move()
        for part in [move.old, move.new] where !part.takesEvents {
            throw CaseDoesNotApply("\(part.name) takes no events")
        }
        try await start(plan)
        return [move.old, move.new]
    }

    /// Starts a client with a plan.
    @discardableResult
    func start(_ plan: MovePlan) async throws -> any SubjectMove {
        let move = try move()
        note("a client starts at \(plan.stage.rawValue), with a share of \(plan.share)")
        move.follow(plan)
        _ = try await client()
        return move
    }

    /// Moves the client.
    func go(to stage: MoveStage, share: Double? = nil) async throws {
        note("the move goes to \(stage.rawValue)\(share.map { ", with a share of \($0)" } ?? "")")
        try await move().move(client(), to: stage, share: share)
    }

    /// The client's report on its move.
    func sight() async throws -> MoveSight { try move().sight(of: await client()) }

    /// Some users who haven't signed in.
    static func people(_ range: Range<Int>) -> [User] { range.map { User(id: "visit-\($0)", consent: .granted) } }

    /// Lets users visit one after another, and reads the experiment's flag.
    func visits(of users: [User], reading times: Int = 1) async throws -> [MoveVisit] {
        note("\(users.count) users come, from \(users.first?.id ?? "nobody") on")
        var visits: [MoveVisit] = []
        for user in users {
            let session = try await session(for: user)
            try await session.refresh(force: true)
            var color = "?"
            for _ in 0..<times { color = session.string("checkout-color", default: "?") }
            let vendor = try session.assignments.first.flatMap(move().answerer)
            visits.append(MoveVisit(vendor: vendor, color: color))
        }
        return visits
    }
}
