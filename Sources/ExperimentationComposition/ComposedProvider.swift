import Experimentation

/// Several vendors as one: decides with some, sends events to others.
///
/// ```swift
/// let provider = try ComposedProvider(
///     [ComposedProvider.Vendor(deciding), .init(counting), .init(FileProvider(configuration: file))],
///     decisions: .from("deciding"),
///     events: ["purchase": ["counting", "file"], "*": ["file"]]
/// )
/// let client = try await ExperimentationClient(provider: provider)
/// ```
///
/// Each vendor keeps its own account in the store, order, attempts, ledger and kill switch. A flag's metadata names the
/// vendor that answered, under ``providerKey``.
public struct ComposedProvider: ExperimentationProvider {
    /// One of the vendors, under the name used by tables and metadata.
    public struct Vendor: Sendable {
        /// The name; by default the provider's, so two accounts of one vendor need names.
        public let name: String
        /// The vendor.
        public let provider: any ExperimentationProvider

        /// Creates a named vendor.
        public init(_ provider: any ExperimentationProvider, as name: String? = nil) {
            self.name = name ?? provider.name
            self.provider = provider
        }
    }

    /// The metadata key of flags and assignments that names the vendor that answered.
    public static let providerKey = Answerer.key

    /// The composition's name, by default `composed`.
    public let name: String
    /// The vendors, in the default order of deciding.
    public let vendors: [Vendor]
    /// Which vendors decide which flags.
    public let decisions: DecisionTable
    /// Which vendors get which events.
    public let events: EventTable
    /// The form of exposures for vendors without experiments.
    public let exposures: ExposureEvent

    /// Creates a composition; sends nothing before a client starts it.
    ///
    /// - Parameters:
    ///   - vendors: The vendors, with unique names.
    ///   - decisions: Which vendors decide which flags; by default all deciding vendors, in order.
    ///   - events: Which vendors get which events; by default each event goes to every vendor that accepts it.
    ///   - exposures: The form of exposures for vendors without experiments.
    ///   - name: The composition's name.
    /// - Throws: `ErrorCode.configuration` naming the faulty row.
    public init(
        _ vendors: [Vendor],
        decisions: DecisionTable = DecisionTable(),
        events: EventTable = EventTable(),
        exposures: ExposureEvent = ExposureEvent(),
        name: String = "composed"
    ) throws(ExperimentationError) {
        self.vendors = vendors
        self.decisions = decisions
        self.events = events
        self.exposures = exposures
        self.name = name
        try validate()
    }

    /// The vendors with flags that the decision table uses, judged by what they declare: the account must be known
    /// before they are started and have roles.
    private var deciding: [Vendor] {
        let named = decisions.vendors
        return vendors.filter { $0.provider.capabilities.contains(.flags) && (named?.contains($0.name) ?? true) }
    }

    /// The accounts of the deciding vendors, which own the stored decisions.
    public var scope: String { deciding.map { "\($0.name)=\($0.provider.destination.account)" }.joined(separator: " ") }

    /// The only deciding vendor's account if there is one, so that its stored decisions stay valid.
    public var destination: Destination {
        let deciding = deciding
        return deciding.count == 1 ? deciding[0].provider.destination : Destination(provider: name, scope: scope)
    }

    /// Derived from the vendors: decisions from the deciding ones, events from those that accept events.
    public var capabilities: Set<Capability> {
        Capability.composed(
            deciding: deciding.map(\.provider.capabilities),
            all: vendors.map(\.provider.capabilities)
        )
    }

    private func validate() throws(ExperimentationError) {
        if vendors.isEmpty { throw .composition("vendors", "a composition needs a vendor") }
        let names = vendors.map(\.name)
        var accounts: [Destination: String] = [:]
        for (index, vendor) in vendors.enumerated() {
            if vendor.name.isEmpty { throw .composition("vendors", "a vendor needs a name") }
            if names.firstIndex(of: vendor.name) != index {
                throw .composition("vendors.\(vendor.name)", "two vendors have this name")
            }
            if let other = accounts.updateValue(vendor.name, forKey: vendor.provider.destination) {
                throw .composition("vendors.\(vendor.name)", "this is the same account as \"\(other)\"")
            }
        }
        try decisions.validate(among: names)
        try events.validate(among: names)
        try exposures.validate()
    }

    /// Starts every vendor and combines their roles.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a vendor's invalid setting, and for a row with a vendor that can't
    ///   serve it.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var started: [Part] = []
        let board = SwitchBoard()
        do throws(ExperimentationError) {
            for vendor in vendors {
                let own = context.context(of: vendor.provider)
                let roles: ProviderRoles
                do throws(ExperimentationError) { roles = try await vendor.provider.start(in: own) } catch {
                    throw error.of(vendor.name)
                }
                let killSwitch = await PartSwitch(in: own, board)
                started.append(
                    Part(
                        name: vendor.name,
                        destination: vendor.provider.destination,
                        context: own,
                        roles: roles,
                        killSwitch: killSwitch
                    )
                )
            }
            try check(started)
        } catch {
            for part in started { await part.roles.stop(context.environment.time.instant) }
            throw error
        }
        return ProviderRoles(of: Parts(started, decisions, board), events, exposures, in: context)
    }
}
