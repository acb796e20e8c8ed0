import Experimentation
import Foundation

/// One thing that a vendor took, in neutral words.
///
/// What the vendor's wire doesn't tell is `nil`, and missing from ``ConformanceSubject/wireFields``.
public struct Received: Sendable, Hashable, Codable {
    /// What is compared only where the wire tells it.
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

    /// What it is, as `TrackingEvent.type` has it: `custom`, `purchase`, `exposure`, `consentChanged`; `identity` for a
    /// user that the vendor was told of or that was linked; `unknown` for what has no neutral word.
    public var type: String
    /// The user's id, by the neutral meaning of `User.id`.
    public var userID: String?
    /// The user's id from before the user was known, by the neutral meaning of `User.anonymousID`.
    public var anonymousID: String?
    /// The event's name, where it has one: of a custom event, a screen, a goal.
    public var name: String?
    /// The event's value; of a purchase its total.
    public var value: Double?
    /// The event's attributes.
    public var attributes: [String: FlagValue]
    /// The experiment's id in the world, of an exposure.
    public var experiment: String?
    /// The variation's id in the world, of an exposure.
    public var variation: String?
    /// The order's id, of a purchase.
    public var orderID: String?
    /// The ids of the items that it is about.
    public var items: [String]
    /// Whether consent was given, of a consent signal.
    public var isGranted: Bool?
    /// The campaign's id, of its impression, dismissal or click.
    public var campaign: String?
    /// The id that a repetition can be told by, if it is on the wire.
    public var eventID: String?
    /// When it happened, as the wire tells.
    public var date: Date?
    /// How many seconds before it was sent it happened, where the wire tells this in place of a date.
    public var age: Double?
    /// The number of the exchange that brought it.
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

/// One exchange between an adapter and its vendor.
public struct Exchange: Sendable, Hashable, Codable {
    /// Counts up from 1.
    public var number: Int
    /// What it is for; `any` for what is none of the others.
    public var purpose: WorldFault.Operation
    /// The operation in the vendor's own word.
    public var operation: String
    /// The HTTP method.
    public var method: String
    /// The path with its query, secrets redacted.
    public var path: String
    /// The status answered; `nil` if there was no answer.
    public var status: Int?
    /// How many bytes the request took, head and body.
    public var bytesIn: Int
    /// How many bytes the answer took, head and body.
    public var bytesOut: Int
    /// The number of the connection, counting up from 1.
    public var connection: Int
    /// The name of the fault that befell it, if any.
    public var fault: String?
    /// The request as text, secrets redacted; for a failure's story.
    public var request: String
    /// The answer as text, secrets redacted; for a failure's story.
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
