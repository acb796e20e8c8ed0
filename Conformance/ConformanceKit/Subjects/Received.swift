import Experimentation
import Foundation

/// Something that a vendor accepted, in neutral terms.
///
/// Fields that the vendor's wire doesn't carry are `nil`, and missing from ``ConformanceSubject/wireFields``.
public struct Received: Sendable, Hashable, Codable {
    /// A field that is compared only where the wire carries it.
    public enum Field: String, Sendable, Hashable, Codable, CaseIterable {
        /// ``Received/userID``
        case userID
        /// ``Received/anonymousID``
        case anonymousID
        /// ``Received/name``
        case name
        /// ``Received/value``
        case value
        /// ``Received/attributes``
        case attributes
        /// ``Received/experiment`` and ``Received/variation`` of exposures.
        case experiment
        /// ``Received/orderID``
        case orderID
        /// ``Received/items``
        case items
        /// ``Received/eventID``
        case eventID
        /// ``Received/date``, or ``Received/age``
        case date
    }

    /// The type, as in `TrackingEvent.type`: `custom`, `purchase`, `exposure`, `consentChanged`; `identity` for a user
    /// whom the vendor was told about or linked; `unknown` if there is no neutral term.
    public var type: String
    /// The user's id, as `User.id` defines it.
    public var userID: String?
    /// The id from before the user was known, as `User.anonymousID` defines it.
    public var anonymousID: String?
    /// The name of a custom event, a screen or a goal.
    public var name: String?
    /// The event's value; the total of a purchase.
    public var value: Double?
    /// The event's attributes.
    public var attributes: [String: FlagValue]
    /// The experiment's id in the world, for exposures.
    public var experiment: String?
    /// The variation's id in the world, for exposures.
    public var variation: String?
    /// The order's id, for purchases.
    public var orderID: String?
    /// The ids of its items.
    public var items: [String]
    /// Whether consent was given, for consent signals.
    public var isGranted: Bool?
    /// The campaign's id, for its impression, dismissal or click.
    public var campaign: String?
    /// The id by which repetitions are recognized, if the wire carries it.
    public var eventID: String?
    /// When it happened, if the wire carries a date.
    public var date: Date?
    /// Its age in seconds when it was sent, if the wire carries that instead of a date.
    public var age: Double?
    /// The number of the exchange that carried it.
    public var exchange: Int

    /// Creates a record.
    public init(
        type: String,
        userID: String? = nil,
        anonymousID: String? = nil,
        name: String? = nil,
        value: Double? = nil,
        attributes: [String: FlagValue] = [:],
        experiment: String? = nil,
        variation: String? = nil,
        orderID: String? = nil,
        items: [String] = [],
        isGranted: Bool? = nil,
        campaign: String? = nil,
        eventID: String? = nil,
        date: Date? = nil,
        age: Double? = nil,
        exchange: Int = 0
    ) {
        self.type = type
        self.userID = userID
        self.anonymousID = anonymousID
        self.name = name
        self.value = value
        self.attributes = attributes
        self.experiment = experiment
        self.variation = variation
        self.orderID = orderID
        self.items = items
        self.isGranted = isGranted
        self.campaign = campaign
        self.eventID = eventID
        self.date = date
        self.age = age
        self.exchange = exchange
    }
}

/// An exchange between an adapter and its vendor.
public struct Exchange: Sendable, Hashable, Codable {
    /// The number, counting from 1.
    public var number: Int
    /// The purpose; `any` if none of the others applies.
    public var purpose: WorldFault.Operation
    /// The operation in the vendor's term.
    public var operation: String
    /// The HTTP method.
    public var method: String
    /// The path with its query, with secrets redacted.
    public var path: String
    /// The answer's status; `nil` if there was no answer.
    public var status: Int?
    /// The size of the request in bytes, head and body.
    public var bytesIn: Int
    /// The size of the answer in bytes, head and body.
    public var bytesOut: Int
    /// The number of the connection, counting from 1.
    public var connection: Int
    /// The name of the fault that affected it, if any.
    public var fault: String?
    /// The request as text, with secrets redacted.
    public var request: String
    /// The answer as text, with secrets redacted; `nil` if there was none.
    public var response: String?

    /// Creates an exchange.
    public init(
        number: Int,
        purpose: WorldFault.Operation,
        operation: String,
        method: String,
        path: String,
        status: Int?,
        bytesIn: Int = 0,
        bytesOut: Int = 0,
        connection: Int = 1,
        fault: String? = nil,
        request: String = "",
        response: String? = nil
    ) {
        self.number = number
        self.purpose = purpose
        self.operation = operation
        self.method = method
        self.path = path
        self.status = status
        self.bytesIn = bytesIn
        self.bytesOut = bytesOut
        self.connection = connection
        self.fault = fault
        self.request = request
        self.response = response
    }
}
