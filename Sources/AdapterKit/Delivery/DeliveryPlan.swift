import Experimentation

/// A kind of request by which a vendor takes events, where it has several.
///
/// The order of the cases is the vendor's own: what it takes first, where no user's order says otherwise.
public protocol DeliveryLane: Hashable, Sendable, CaseIterable {
    /// How many events one request takes at most.
    var most: Int { get }
}

/// The requests of a batch whose events go several ways, arranged so that each user's events arrive in their order.
///
/// ```swift
/// await DeliveryPlan(batch, by: lane(of:)).deliver { request in
///     switch request.lane {
///     case .exposures: await activate(request.events)
///     case .hits: await send(request.events)
///     }
/// }
/// ```
///
/// Where each user needs two kinds of request one after the other, the batch needs two requests, however many users it has; a
/// user who goes back and forth between them adds one each time.
public struct DeliveryPlan<Lane: DeliveryLane>: Sendable, Hashable {
    /// What goes out together.
    public struct Request: Sendable, Hashable {
        /// How it goes out.
        public let lane: Lane
        /// Its events, in the order of the batch.
        public let events: [Envelope]
        /// The place of each in the batch.
        public let places: [Int]
    }

    /// The requests, to be sent one after the other.
    public let requests: [Request]
    private let count: Int

    /// Arranges a batch.
    ///
    /// - Parameters:
    ///   - batch: The events, the oldest first.
    ///   - lane: Which way an event goes.
    public init(_ batch: [Envelope], by lane: (Envelope) -> Lane) {
        let lanes = Array(Lane.allCases)
        var best = Self.requests(batch, in: lanes, by: lane)
        for first in lanes.indices.dropFirst() {
            let turned = Self.requests(batch, in: Array(lanes[first...] + lanes[..<first]), by: lane)
            if turned.count < best.count { best = turned }
        }
        requests = best
        count = batch.count
    }

    /// Arranges a batch in stages that take the lanes in turns: an event goes into the first stage of its lane that doesn't come
    /// before the last of its user.
    private static func requests(_ batch: [Envelope], in lanes: [Lane], by lane: (Envelope) -> Lane) -> [Request] {
        var stages: [[Int]] = []
        var last: [String: Int] = [:]
        for (place, event) in batch.enumerated() {
            guard let turn = lanes.firstIndex(of: lane(event)) else { continue }
            let from = last[event.identity.id, default: 0]
            let stage = from + (turn - from % lanes.count + lanes.count) % lanes.count
            last[event.identity.id] = stage
            while stages.count <= stage { stages.append([]) }
            stages[stage].append(place)
        }
        return stages.enumerated().flatMap { stage, places in
            let lane = lanes[stage % lanes.count]
            let most = max(lane.most, 1)
            return stride(from: 0, to: places.count, by: most).map { start in
                let places = Array(places[start...].prefix(most))
                return Request(lane: lane, events: places.map { batch[$0] }, places: places)
            }
        }
    }

    /// Sends the requests one after the other; what must not go ahead of something that is to be tried again stays behind.
    ///
    /// - An event that failed or is to be tried in halves keeps its user's later events back, and theirs alone.
    /// - An outage or a stop ends its lane as well: an address that can't be reached isn't asked again in this delivery.
    ///
    /// What stays behind wasn't sent, and no attempt is counted. Once a kill switch was on in an answer, or the task was
    /// cancelled, no request is begun any more.
    ///
    /// - Parameter send: Sends the events of one request and says of each what became of it, in the order of the request.
    /// - Returns: What became of all, in the order of the batch.
    public func deliver(_ send: @Sendable (Request) async -> DeliveryReport) async -> DeliveryReport {
        var whole = DeliveryReport(noAnswerTo: count)
        var users: [String: Verdict] = [:]
        var lanes: [Lane: Verdict] = [:]
        for request in requests {
            if whole.isDisabled || Task.isCancelled { break }
            var events: [Envelope] = []
            var places: [Int] = []
            for (event, place) in zip(request.events, request.places) {
                if let verdict = users[event.identity.id] ?? lanes[request.lane] {
                    users[event.identity.id] = verdict
                    whole[place] = verdict
                } else {
                    events.append(event)
                    places.append(place)
                }
            }
            if events.isEmpty { continue }
            let report = await send(Request(lane: request.lane, events: events, places: places))
            whole.add(report, at: places)
            for (event, verdict) in zip(events, report.verdicts(count: events.count)) {
                switch verdict {
                case .delivered, .rejected: continue
                // Tried again at once without what it waited for, it goes if that is given up and stays if that stays.
                case .failed, .split: users[event.identity.id] = .split("an earlier event of the user wasn't taken")
                default:
                    users[event.identity.id] = verdict ?? .outage()
                    lanes[request.lane] = verdict ?? .outage()
                }
            }
        }
        return whole
    }
}
