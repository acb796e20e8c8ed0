import Experimentation
import Foundation

/// The start time of every case.
let start = Date(timeIntervalSince1970: 1_795_262_400)

/// A time, in seconds after the start.
func at(_ seconds: Double) -> Date { start + seconds }

extension Destination {
    static let home = Destination(provider: "home", scope: "")
    static let away = Destination(provider: "away", scope: "1")
    static let third = Destination(provider: "away", scope: "2")
}

extension NewEvent {
    /// Creates an event of the user named by the first letter of its id.
    init(
        _ id: String,
        _ event: TrackingEvent = .custom("spun-wheel"),
        owedTo destinations: [Destination] = [.home],
        isHeld: Bool = false,
        grantsConsent: Bool = false,
        at seconds: Double = 0
    ) {
        self.init(
            Envelope(
                id: id,
                identity: Identity(id: String(id.prefix(1))),
                session: "s",
                event: event,
                date: at(seconds)
            ),
            owedTo: destinations.map { Delivery(to: $0, isHeld: isHeld) },
            grantsConsent: grantsConsent
        )
    }
}

extension TrackingEvent {
    static let view = TrackingEvent.screenView("home")
    static let purchase = TrackingEvent.purchase(Order(id: "o", total: 1))
    static func consent(_ granted: Bool) -> TrackingEvent { TrackingEvent(.consentChanged(granted: granted)) }
}

extension ConsentChange {
    static func denied(_ user: String) -> ConsentChange { ConsentChange(userID: user, isGranted: false) }
    static func granted(_ user: String) -> ConsentChange { ConsentChange(userID: user, isGranted: true) }
}

extension Lease {
    /// The ids of all events, in order.
    var ids: [String] { batches.joined().map(\.id) }
    /// Whether the store says that nothing is left for the destination that may be delivered now.
    var isSaidToBeLast: Bool { if case .nothing? = rest { true } else { false } }

    /// The first event.
    ///
    /// - Throws: ``EmptyLease`` when the store leased nothing.
    var first: Envelope {
        get throws(EmptyLease) {
            guard let first = batches.joined().first else { throw EmptyLease() }
            return first
        }
    }
}

/// Thrown when a lease holds nothing where it should.
struct EmptyLease: Error, CustomStringConvertible {
    var description: String { "the lease holds no event" }
}

/// Thrown when a store grants no lease where it should.
struct NoLease: Error, CustomStringConvertible {
    let answer: LeaseAnswer
    var description: String { "there was no lease: \(answer)" }
}

extension OutboxStore {
    /// Accepts events.
    ///
    /// - Returns: The code for each event that was refused, and `nil` for the others.
    @discardableResult
    func add(_ events: [NewEvent], at seconds: Double = 0) async throws -> [ErrorCode?] {
        try await append(events, now: at(seconds)).map { $0?.code }
    }

    /// Accepts events of the users named by the first letters of their ids.
    @discardableResult
    func add(
        _ ids: String...,
        owedTo destinations: [Destination] = [.home],
        isHeld: Bool = false
    ) async throws -> [ErrorCode?] {
        try await add(ids.map { NewEvent($0, owedTo: destinations, isHeld: isHeld) })
    }

    /// Requests a lease of a lane.
    func take(
        _ owner: Int64 = 1,
        batches: Int = 1,
        of destination: Destination = .home,
        count: Int = 1_000,
        bytes: Int = .max,
        at seconds: Double = 0,
        until end: Double? = nil,
        behind token: LeaseToken? = nil
    ) async throws -> LeaseAnswer {
        try await lease(
            LeaseRequest(
                for: destination,
                owner: owner,
                batches: batches,
                of: count,
                bytes: bytes,
                now: at(seconds),
                until: at(end ?? seconds + 60),
                after: token
            )
        )
    }

    /// Takes a lease of a lane, which must be available.
    func taken(
        _ owner: Int64 = 1,
        batches: Int = 1,
        of destination: Destination = .home,
        count: Int = 1_000,
        bytes: Int = .max,
        at seconds: Double = 0,
        until end: Double? = nil,
        behind token: LeaseToken? = nil
    ) async throws -> Lease {
        let answer = try await take(
            owner,
            batches: batches,
            of: destination,
            count: count,
            bytes: bytes,
            at: seconds,
            until: end,
            behind: token
        )
        guard case .leased(let lease) = answer else { throw NoLease(answer: answer) }
        return lease
    }

    /// Records the verdicts on leased events, by event id.
    @discardableResult
    func settle(
        _ lease: Lease,
        at seconds: Double = 0,
        _ outcomes: KeyValuePairs<String, Settlement.Outcome>
    ) async throws -> Bool {
        let events = Dictionary(lease.batches.joined().map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        let settlements = outcomes.map { id, outcome in
            events[id].map { Settlement(of: $0, outcome) } ?? Settlement(id: id, sequence: 1_000_000, outcome)
        }
        return try await settle(settlements, under: lease.token, now: at(seconds))
    }

    /// Records that everything was delivered.
    @discardableResult
    func settleAll(_ lease: Lease, at seconds: Double = 0) async throws -> Bool {
        try await settle(
            lease.batches.joined().map { Settlement(of: $0, .delivered) },
            under: lease.token,
            now: at(seconds)
        )
    }

    /// Releases a lane.
    func release(_ lease: Lease, at seconds: Double = 0) async throws {
        try await release(lease.token, pause: nil, now: at(seconds))
    }
}

extension Settlement.Outcome {
    /// A failure that is retried.
    static func again(_ seconds: Double, attempts: Int = 1, _ reason: String = "HTTP 400") -> Self {
        .retry(at: at(seconds), attempts: attempts, reason: reason)
    }

    /// A final rejection.
    static let refused = Settlement.Outcome.dropped(.rejected, detail: "HTTP 422")
}
