import Experimentation
import Foundation

/// What all users share; a class, so that a reading holds a single reference.
final class Surroundings: Sendable {
    /// The location from the service, by full property name.
    let place: [String: String]
    let configuration: SigmaConfiguration

    init(place: [String: String], configuration: SigmaConfiguration) {
        self.place = place
        self.configuration = configuration
    }
}

/// Reads the properties of one user at one moment.
///
/// The user's own value wins while it is young enough, then the service's location or the device's value.
struct PropertyReading {
    let context: EvaluationContext
    let surroundings: Surroundings

    func text(of property: Property) -> String? {
        for name in property.attributes {
            if let text = attribute(name), !text.isEmpty || !property.isID { return text }
        }
        switch property.source {
        case .none: return nil
        // A user with only one id is split by it, whichever id an experiment asks for.
        case .userID: return isAuthenticated ? anonymousID ?? id : id ?? anonymousID
        case .profileID: return isAuthenticated ? id : nil
        case .deviceID: return device.id
        case .appVersion: return device.appVersion
        case .osName: return device.osName
        case .osVersion: return device.osVersion
        case .time: return device.time(at: context.date)
        case .date: return device.day(at: context.date)
        case .place: return surroundings.place[property.name]
        }
    }

    private var device: SigmaDevice { surroundings.configuration.device }
    private var isAuthenticated: Bool { context.user.isAuthenticated }
    private var id: String? { context.user.id.isEmpty ? nil : context.user.id }
    private var anonymousID: String? { context.user.anonymousID.flatMap { $0.isEmpty ? nil : $0 } }

    private func attribute(_ name: String) -> String? {
        guard let value = context.user.attributes.values[name] else { return nil }
        let lifetime = surroundings.configuration.assumptions.propertyLifetime
        if let lifetime, let set = context.attributeDates[name],
            context.date.timeIntervalSince(set) > Double(lifetime.components.seconds)
        {
            return nil
        }
        return value.sigmaText
    }
}

extension FlagValue {
    /// The value as the vendor's SDK would write it into a property; `nil` for no value.
    var sigmaText: String? {
        switch self {
        case .null: nil
        case .string(let text): text
        case .bool, .int, .double, .array, .object: description
        }
    }
}
