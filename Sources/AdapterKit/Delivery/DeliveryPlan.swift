import Experimentation

/// A kind of request by which a vendor takes events, if it has several.
///
/// The order of the cases is the vendor's preferred order of sending, unless a user's order says otherwise.
public protocol DeliveryLane: Hashable, Sendable, CaseIterable {
    /// The maximum number of events in one request.
    var most: Int { get }
}

/// The requests for a batch whose events take different lanes, arranged so that each user's events arrive in order.
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
/// If each user needs two kinds of request in sequence, the batch needs two requests, however many users it has; a
/// user who alternates between them adds one each time.
public struct DeliveryPlan<Lane: DeliveryLane>: Sendable, Hashable {
    /// Events that are sent together.
    public struct Request: Sendable, Hashable {
        /// The lane of the request.
        public let lane: Lane
        /// Its events, in the order of the batch.
        public let events: [Envelope]
        /// The position of each in the batch.
        public let places: [Int]
    }

    /// The requests, to be sent one after the other.
    public let requests: [Request]
    private let count: Int

    /// Arranges a batch.
    ///
    /// - Parameters:
    ///   - batch: The events, oldest first.
    ///   - lane: Returns the lane of an event.
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

    /// Arranges a batch in stages that alternate between the lanes: an event joins the first stage of its lane that
    /// isn't before the stage of its user's last event.
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

    /// Sends the requests one after the other, and holds back whatever must not overtake an event that is to be
    /// retried.
    ///
    /// - An event that failed or is to be split holds back its user's later events only.
    /// - An outage or a stop also ends its lane: an unreachable address isn't called again in this delivery.
    ///
    /// Held-back events weren't sent, and no attempt is counted. Once an answer says that the kill switch is on, or the
    /// task is cancelled, no further request begins.
    ///
    /// - Parameter send: Sends the events of one request and reports what became of each, in the order of the request.
    /// - Returns: What became of each event, in the order of the batch.
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
                // The event is retried at once without the earlier one: it is sent if the earlier one is dropped, and
                // stays if that one stays.
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
