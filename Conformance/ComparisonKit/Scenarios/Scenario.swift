import ConformanceKit
import Experimentation

/// A story that is played with every vendor: what the vendors hold at its beginning, and what happens then.
public struct Scenario: Sendable, Hashable {
    /// A short name, as file names and reports write it.
    public var name: String
    /// What the story is, in a line.
    public var title: String
    /// The story in a few sentences.
    public var summary: String
    /// What each vendor's back end holds at the beginning.
    public var world: World
    /// What happens, in order.
    public var steps: [Step]

    /// How many steps a scenario may have.
    public static let longest = 500
    /// How many events a scenario may track in all.
    public static let mostEvents = 20_000

    /// Creates a scenario.
    public init(name: String, title: String, summary: String = "", world: World, steps: [Step]) {
        self.name = name
        self.title = title
        self.summary = summary
        self.world = world
        self.steps = steps
    }

    /// One thing that happens.
    public struct Step: Sendable, Hashable {
        /// What happens, for a person.
        public var title: String
        /// What is done.
        public var action: Action

        /// Creates a step; without a title the action speaks for itself.
        public init(_ title: String? = nil, _ action: Action) {
            self.title = title ?? action.sentence
            self.action = action
        }
    }

    /// What a step does.
    public enum Action: Sendable, Hashable {
        /// A user of the world opens the application; later steps are this user's.
        case arrive(userID: String)
        /// The application asks for fresh decisions.
        case refresh
        /// The application reads a flag.
        case read(flag: String, default: FlagValue)
        /// The application says that the user saw an experiment.
        case see(experiment: String)
        /// The application tracks events, all of them as often as it is said.
        case track([TrackingEvent], times: Int)
        /// The application delivers what waits.
        case flush
        /// The vendor begins to fail.
        case fault([WorldFault])
        /// The vendor goes off the network, or comes back.
        case network(isReachable: Bool)
        /// Somebody turns the vendor's kill switch.
        case killSwitch(isOn: Bool)
        /// The user says yes or no to tracking.
        case consent(Consent)
        /// The application ends and starts again, with what it stored.
        case restart
        /// The user, anonymous so far, signs in; without an anonymous id of its own the earlier id becomes it.
        case logIn(User)
        /// Time passes.
        case wait(seconds: Int)
    }
}

extension Scenario.Action {
    /// The key that the action has in a document.
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

    /// What is done, in a few words.
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
