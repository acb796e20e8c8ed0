import ConformanceKit
import Experimentation

/// A scenario to run with every vendor: the initial world, and the steps.
public struct Scenario: Sendable, Hashable {
    /// A short name, as used in file names and reports.
    public var name: String
    /// The title.
    public var title: String
    /// The scenario in a few sentences.
    public var summary: String
    /// The initial world of each vendor.
    public var world: World
    /// The steps, in order.
    public var steps: [Step]

    /// The maximum number of steps.
    public static let longest = 500
    /// The maximum number of events tracked in total.
    public static let mostEvents = 20_000

    /// Creates a scenario.
    public init(name: String, title: String, summary: String = "", world: World, steps: [Step]) {
        self.name = name
        self.title = title
        self.summary = summary
        self.world = world
        self.steps = steps
    }

    /// A step of a scenario.
    public struct Step: Sendable, Hashable {
        /// The title.
        public var title: String
        /// The action.
        public var action: Action

        /// Creates a step; the title defaults to a description of the action.
        public init(_ title: String? = nil, _ action: Action) {
            self.title = title ?? action.sentence
            self.action = action
        }
    }

    /// The action of a step.
    public enum Action: Sendable, Hashable {
        /// A user of the world opens the application; later steps belong to this user.
        case arrive(userID: String)
        /// The application refreshes its decisions.
        case refresh
        /// The application reads a flag.
        case read(flag: String, default: FlagValue)
        /// The application records that the user saw an experiment.
        case see(experiment: String)
        /// The application tracks events, repeating the whole list.
        case track([TrackingEvent], times: Int)
        /// The application delivers all waiting events.
        case flush
        /// The vendor begins to fail.
        case fault([WorldFault])
        /// The vendor becomes unreachable, or reachable again.
        case network(isReachable: Bool)
        /// The vendor's kill switch is turned on or off.
        case killSwitch(isOn: Bool)
        /// The user grants or denies consent.
        case consent(Consent)
        /// The application restarts with its stored data.
        case restart
        /// The anonymous user logs in; if they have no anonymous id, the earlier id becomes it. Consent stays as it was
        /// if theirs is unknown.
        case logIn(User)
        /// Time passes.
        case wait(seconds: Int)
    }
}

extension Scenario.Action {
    /// The action's key in documents.
    public var key: String {
        switch self {
        case .arrive: "arrive"
        case .refresh: "refresh"
        case .read: "read"
        case .see: "see"
        case .track: "track"
        case .flush: "flush"
        case .fault: "fault"
        case .network: "network"
        case .killSwitch: "killSwitch"
        case .consent: "consent"
        case .restart: "restart"
        case .logIn: "logIn"
        case .wait: "wait"
        }
    }

    /// The keys of all actions.
    public static let keys = [
        "arrive", "refresh", "read", "see", "track", "flush", "fault", "network", "killSwitch", "consent", "restart",
        "logIn", "wait",
    ]

    /// The action as a phrase.
    public var sentence: String {
        switch self {
        case .arrive(let userID): "\(userID) arrives"
        case .refresh: "Decisions are fetched"
        case .read(let flag, _): "The flag \(flag) is read"
        case .see(let experiment): "The experiment \(experiment) is seen"
        case .track(let events, let times): Self.sentence(events, times)
        case .flush: "What waits is delivered"
        case .fault(let faults): "The vendor fails: " + faults.map(\.description).joined(separator: "; ")
        case .network(let isReachable): isReachable ? "The vendor comes back" : "The vendor goes away"
        case .killSwitch(let isOn): "The kill switch is turned \(isOn ? "on" : "off")"
        case .consent(let consent): "Consent is \(consent.rawValue)"
        case .restart: "The application starts again"
        case .logIn(let user): "The user signs in as \(user.id)"
        case .wait(let seconds): "\(seconds) seconds pass"
        }
    }

    private static func sentence(_ events: [TrackingEvent], _ times: Int) -> String {
        let names = events.map { event -> String in
            if case .custom(let name, _) = event.kind { return name }
            return event.type
        }
        return "Tracked: " + names.joined(separator: ", ") + (times > 1 ? ", \(times) times" : "")
    }
}
