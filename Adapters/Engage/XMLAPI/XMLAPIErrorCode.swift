/// A code in a fault of the XML interface.
///
/// The type is open: any number may occur. These are the ones for which the vendor's own SDK has constants.
public struct XMLAPIErrorCode: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    /// The number on the wire; 0 if a fault has none.
    public let rawValue: Int
    /// Creates a code from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// Creates a code from its number.
    public init(integerLiteral value: Int) { rawValue = value }
    /// The reference's name of the code, if it has one, and the number.
    public var description: String {
        Self.names[rawValue].map { "\($0) (\(rawValue))" } ?? String(rawValue)
    }

    /// 1, the reference's `XMLAPI_ERROR_FTF_NON_NUMERIC_MAILING_KEY`.
    public static let ftfNonNumericMailingKey: Self = 1
    /// 2, the reference's `XMLAPI_ERROR_FTF_NON_NUMERIC_SENDER_KEY`.
    public static let ftfNonNumericSenderKey: Self = 2
    /// 3, the reference's `XMLAPI_ERROR_FTF_BAD_MAILING`.
    public static let ftfBadMailing: Self = 3
    /// 4, the reference's `XMLAPI_ERROR_FTF_INVALID_EMAIL_ADDRESS`.
    public static let ftfInvalidEmailAddress: Self = 4
    /// 5, the reference's `XMLAPI_ERROR_FTF_INVALID_ENCRYPTED_SENDER_KEY`.
    public static let ftfInvalidEncryptedSenderKey: Self = 5
    /// 6, the reference's `XMLAPI_ERROR_FTF_INVALID_COMMENT_SIZE`.
    public static let ftfInvalidCommentSize: Self = 6
    /// 50, the reference's `XMLAPI_ERROR_SERVER_ERROR`.
    public static let serverError: Self = 50
    /// 51, the reference's `XMLAPI_ERROR_INVALID_XML_REQUEST`.
    public static let invalidXmlRequest: Self = 51
    /// 52, the reference's `XMLAPI_ERROR_MISSING_XML_PARAMETER`.
    public static let missingXmlParameter: Self = 52
    /// 100, the reference's `XMLAPI_ERROR_PARAM_NOT_PROVIDED`.
    public static let paramNotProvided: Self = 100
    /// 101, the reference's `XMLAPI_ERROR_NAME_ALREADY_IN_USE`.
    public static let nameAlreadyInUse: Self = 101
    /// 102, the reference's `XMLAPI_ERROR_DIRECTORY_ALREADY_EXISTS`.
    public static let directoryAlreadyExists: Self = 102
    /// 103, the reference's `XMLAPI_ERROR_PARENT_DIRECTORY_DOES_NOT_EXIST`.
    public static let parentDirectoryDoesNotExist: Self = 103
    /// 104, the reference's `XMLAPI_ERROR_VISIBILITY_NOT_VALID`.
    public static let visibilityNotValid: Self = 104
    /// 105, the reference's `XMLAPI_ERROR_LIST_TYPE_NOT_VALID`.
    public static let listTypeNotValid: Self = 105
    /// 106, the reference's `XMLAPI_ERROR_LIST_ID_NOT_VALID`.
    public static let listIdNotValid: Self = 106
    /// 107, the reference's `XMLAPI_ERROR_MAILING_ID_NOT_VALID`.
    public static let mailingIdNotValid: Self = 107
    /// 108, the reference's `XMLAPI_ERROR_TRACKING_LEVEL_NOT_VALID`.
    public static let trackingLevelNotValid: Self = 108
    /// 109, the reference's `XMLAPI_ERROR_ERROR_SAVING_MAILING`.
    public static let errorSavingMailing: Self = 109
    /// 110, the reference's `XMLAPI_ERROR_RETAIN_FLAG_NOT_VALID`.
    public static let retainFlagNotValid: Self = 110
    /// 111, the reference's `XMLAPI_ERROR_MAILING_TYPE_NOT_VALID`.
    public static let mailingTypeNotValid: Self = 111
    /// 112, the reference's `XMLAPI_ERROR_CLICK_THROUGH_TYPE_NOT_VALID`.
    public static let clickThroughTypeNotValid: Self = 112
    /// 113, the reference's `XMLAPI_ERROR_TEXT_SIZE_NOT_INT`.
    public static let textSizeNotInt: Self = 113
    /// 114, the reference's `XMLAPI_ERROR_PARAM_NOT_PROVIDED_2`.
    public static let paramNotProvided2: Self = 114
    /// 115, the reference's `XMLAPI_ERROR_NAME_ALREADY_IN_USE_2`.
    public static let nameAlreadyInUse2: Self = 115
    /// 116, the reference's `XMLAPI_ERROR_ERR_INVALID_CREATED_FROM`.
    public static let errInvalidCreatedFrom: Self = 116
    /// 117, the reference's `XMLAPI_ERROR_ERR_INVALID_ALLOW_HTML`.
    public static let errInvalidAllowHtml: Self = 117
    /// 118, the reference's `XMLAPI_ERROR_ERR_INVALID_SEND_AUTOREPLY`.
    public static let errInvalidSendAutoreply: Self = 118
    /// 119, the reference's `XMLAPI_ERROR_ERR_INVALID_UPDATE_IF_FOUND`.
    public static let errInvalidUpdateIfFound: Self = 119
    /// 120, the reference's `XMLAPI_ERROR_ERROR_SAVING_RECIPIENT`.
    public static let errorSavingRecipient: Self = 120
    /// 121, the reference's `XMLAPI_ERROR_ADD_RECIPIENT_EMAIL_REQUIRED`.
    public static let addRecipientEmailRequired: Self = 121
    /// 122, the reference's `XMLAPI_ERROR_ADD_RECIPIENT_ALREADY_EXISTS`.
    public static let addRecipientAlreadyExists: Self = 122
    /// 123, the reference's `XMLAPI_ERROR_UPDATE_RECIPIENT_DOES_NOT_EXIST`.
    public static let updateRecipientDoesNotExist: Self = 123
    /// 124, the reference's `XMLAPI_ERROR_RECIPIENT_ID_NOT_VALID`.
    public static let recipientIdNotValid: Self = 124
    /// 125, the reference's `XMLAPI_ERROR_LIST_ID_OR_MAILING_ID_REQUIRED`.
    public static let listIdOrMailingIdRequired: Self = 125
    /// 126, the reference's `XMLAPI_ERROR_MAILING_DOES_NOT_EXIST`.
    public static let mailingDoesNotExist: Self = 126
    /// 127, the reference's `XMLAPI_ERROR_MAILING_DELETED`.
    public static let mailingDeleted: Self = 127
    /// 128, the reference's `XMLAPI_ERROR_RECIPIENT_NOT_LIST_MEMBER`.
    public static let recipientNotListMember: Self = 128
    /// 129, the reference's `XMLAPI_ERROR_RECIPIENT_OPTED_OUT`.
    public static let recipientOptedOut: Self = 129
    /// 130, the reference's `XMLAPI_ERROR_MAILING_INTERNAL_ERROR`.
    public static let mailingInternalError: Self = 130
    /// 131, the reference's `XMLAPI_ERROR_ERR_INVALID_IMPORT_TYPE`.
    public static let errInvalidImportType: Self = 131
    /// 132, the reference's `XMLAPI_ERROR_IMPORT_JOB_CREATE_ERROR`.
    public static let importJobCreateError: Self = 132
    /// 133, the reference's `XMLAPI_ERROR_FILE_TYPE_NOT_VALID`.
    public static let fileTypeNotValid: Self = 133
    /// 134, the reference's `XMLAPI_ERROR_FILE_TYPE_NOT_VALID_2`.
    public static let fileTypeNotValid2: Self = 134
    /// 135, the reference's `XMLAPI_ERROR_JOB_ID_NOT_VALID`.
    public static let jobIdNotValid: Self = 135
    /// 136, the reference's `XMLAPI_ERROR_DELETE_JOB_INTERNAL_ERROR`.
    public static let deleteJobInternalError: Self = 136
    /// 137, the reference's `XMLAPI_ERROR_DESTROY_MAILING_INTERNAL_ERROR`.
    public static let destroyMailingInternalError: Self = 137
    /// 138, the reference's `XMLAPI_ERROR_REMOVE_RECIPIENT_INTERNAL_ERROR`.
    public static let removeRecipientInternalError: Self = 138
    /// 139, the reference's `XMLAPI_ERROR_CANNOT_CREATE_DC_RULESET_EXPORT`.
    public static let cannotCreateDcRulesetExport: Self = 139
    /// 140, the reference's `XMLAPI_ERROR_EDITOR_TYPE_NOT_VALID`.
    public static let editorTypeNotValid: Self = 140
    /// 141, the reference's `XMLAPI_ERROR_ENCODING_NOT_VALID`.
    public static let encodingNotValid: Self = 141
    /// 143, the reference's `XMLAPI_ERROR_CANNOT_DELETE_LIST_QUERY_RECIPIENTS`.
    public static let cannotDeleteListQueryRecipients: Self = 143
    /// 145, the reference's `XMLAPI_ERROR_INVALID_SESSION`.
    public static let invalidSession: Self = 145
    /// 146, the reference's `XMLAPI_ERROR_INVALID_LIST_COLUMN_TYPE`.
    public static let invalidListColumnType: Self = 146
    /// 147, the reference's `XMLAPI_ERROR_INCLUDE_ALL_LISTS_NOT_VALID`.
    public static let includeAllListsNotValid: Self = 147
    /// 150, the reference's `XMLAPI_ERROR_INVALID_PERMISSIONS`.
    public static let invalidPermissions: Self = 150
    /// 151, the reference's `XMLAPI_ERROR_ERR_LIST_META_DENIED`.
    public static let errListMetaDenied: Self = 151
    /// 152, the reference's `XMLAPI_ERROR_CREATE_COLUMNS_INTERNAL_ERROR`.
    public static let createColumnsInternalError: Self = 152
    /// 153, the reference's `XMLAPI_ERROR_ERR_EXPORT_NOT_LIST_COLUMN`.
    public static let errExportNotListColumn: Self = 153
    /// 154, the reference's `XMLAPI_ERROR_ACTION_CODE_NOT_VALID`.
    public static let actionCodeNotValid: Self = 154
    /// 155, the reference's `XMLAPI_ERROR_RULESET_DOES_NOT_EXIST`.
    public static let rulesetDoesNotExist: Self = 155
    /// 156, the reference's `XMLAPI_ERROR_CREATE_EXPORT_JOB_INTERNAL_ERROR`.
    public static let createExportJobInternalError: Self = 156
    /// 160, the reference's `XMLAPI_ERROR_CUSTOM_MAILING_ID_REQUIRED`.
    public static let customMailingIdRequired: Self = 160
    /// 161, the reference's `XMLAPI_ERROR_COLUMN_NAME_NOT_VALID`.
    public static let columnNameNotValid: Self = 161
    /// 162, the reference's `XMLAPI_ERROR_MAILING_NOT_ACTIVE`.
    public static let mailingNotActive: Self = 162
    /// 170, the reference's `XMLAPI_ERROR_DELETE_RULESET_SQL_ERROR`.
    public static let deleteRulesetSqlError: Self = 170
    /// 171, the reference's `XMLAPI_ERROR_DELETE_RULESET_ERROR`.
    public static let deleteRulesetError: Self = 171
    /// 172, the reference's `XMLAPI_ERROR_USAGE_NOT_INTEGER`.
    public static let usageNotInteger: Self = 172
    /// 173, the reference's `XMLAPI_ERROR_DYNAMIC_CONTENT_RULESET_SQL_ERROR`.
    public static let dynamicContentRulesetSqlError: Self = 173
    /// 174, the reference's `XMLAPI_ERROR_DYNAMIC_CONTENT_RULESET_SQL_ERROR_2`.
    public static let dynamicContentRulesetSqlError2: Self = 174
    /// 180, the reference's `XMLAPI_ERROR_USER_EXISTS_INTERNAL_ERROR`.
    public static let userExistsInternalError: Self = 180
    /// 181, the reference's `XMLAPI_ERROR_CANNOT_SCHEDULE_MULTIMATCH_MAILINGS`.
    public static let cannotScheduleMultimatchMailings: Self = 181
    /// 182, the reference's `XMLAPI_ERROR_MAILING_NAME_ALREADY_EXISTS`.
    public static let mailingNameAlreadyExists: Self = 182
    /// 183, the reference's `XMLAPI_ERROR_MAILING_VALIDATION_ERROR`.
    public static let mailingValidationError: Self = 183
    /// 184, the reference's `XMLAPI_ERROR_DATE_ERROR`.
    public static let dateError: Self = 184
    /// 185, the reference's `XMLAPI_ERROR_BEHAVIOR_REPORT_ID_NOT_VALID`.
    public static let behaviorReportIdNotValid: Self = 185
    /// 186, the reference's `XMLAPI_ERROR_ERR_INVALID_SENT_MAILING_TYPE`.
    public static let errInvalidSentMailingType: Self = 186
    /// 187, the reference's `XMLAPI_ERROR_RECURSIVE_NOT_VALID`.
    public static let recursiveNotValid: Self = 187
    /// 188, the reference's `XMLAPI_ERROR_LIST_COLUMN_CANNOT_BE_SYSTEM_FIELD`.
    public static let listColumnCannotBeSystemField: Self = 188
    /// 190, the reference's `XMLAPI_ERROR_CANNOT_LOCATE_ELEMENT`.
    public static let cannotLocateElement: Self = 190
    /// 256, the reference's `XMLAPI_ERROR_CREATE_QUERY_NAME_ALREADY_EXISTS`.
    public static let createQueryNameAlreadyExists: Self = 256
    /// 300, the reference's `XMLAPI_ERROR_RULESET_WITH_NAME_ALREADY_EXISTS`.
    public static let rulesetWithNameAlreadyExists: Self = 300
    /// 301, the reference's `XMLAPI_ERROR_RULESET_WITH_NAME_DOES_NOT_EXIST`.
    public static let rulesetWithNameDoesNotExist: Self = 301
    /// 310, the reference's `XMLAPI_ERROR_LIST_ID_NOT_INTEGER`.
    public static let listIdNotInteger: Self = 310
    /// 311, the reference's `XMLAPI_ERROR_CREATE_RECIPIENT_DATA_JOB_INTERNAL_ERROR`.
    public static let createRecipientDataJobInternalError: Self = 311
    /// 312, the reference's `XMLAPI_ERROR_LIST_TYPE_NOT_VALID_2`.
    public static let listTypeNotValid2: Self = 312
    /// 313, the reference's `XMLAPI_ERROR_COLUMN_TYPE_NOT_VALID`.
    public static let columnTypeNotValid: Self = 313
    /// 314, the reference's `XMLAPI_ERROR_COLUMN_NOT_FOUND`.
    public static let columnNotFound: Self = 314
    /// 315, the reference's `XMLAPI_ERROR_RECIPIENT_OPT_OUT_INTERNAL_ERROR`.
    public static let recipientOptOutInternalError: Self = 315
    /// 316, the reference's `XMLAPI_ERROR_COLUMN_NAME_REQUIRED`.
    public static let columnNameRequired: Self = 316
    /// 320, the reference's `XMLAPI_ERROR_MAILING_ID_AND_LIST_ID_SET`.
    public static let mailingIdAndListIdSet: Self = 320
    /// 321, the reference's `XMLAPI_ERROR_EXPORT_FORMAT_NOT_VALID`.
    public static let exportFormatNotValid: Self = 321
    /// 322, the reference's `XMLAPI_ERROR_MAILING_CONTENT_ARCHIVED`.
    public static let mailingContentArchived: Self = 322
    /// 323, the reference's `XMLAPI_ERROR_FOLDER_ID_NOT_NUMBER`.
    public static let folderIdNotNumber: Self = 323
    /// 314, the reference's `XMLAPI_ERROR_PARENT_FOLDER_VISIBILITY_MISMATCH`.
    ///
    /// The reference gives it the number of ``columnNotFound``; 324 is presumably meant.
    public static let parentFolderVisibilityMismatch: Self = 314
    /// 325, the reference's `XMLAPI_ERROR_FOLDER_ID_NOT_FOUND`.
    public static let folderIdNotFound: Self = 325
    /// 326, the reference's `XMLAPI_ERROR_CANNOT_UPDATE_EMAIL`.
    public static let cannotUpdateEmail: Self = 326
    /// 329, the reference's `XMLAPI_ERROR_SYNC_FIELD_NAME_REQUIRED`.
    public static let syncFieldNameRequired: Self = 329
    /// 500, the reference's `XMLAPI_ERROR_MAILING_REPORT_DATA_NOT_AVAILABLE`.
    public static let mailingReportDataNotAvailable: Self = 500
    /// 600, the reference's `XMLAPI_ERROR_QUERY_SAVE_ERROR`.
    public static let querySaveError: Self = 600
    /// 806, the reference's `XMLAPI_ERROR_AUTO_RESPONDER_NOT_ACTIVE`.
    public static let autoResponderNotActive: Self = 806
    /// 1001, the reference's `XMLAPI_ERROR_RECIPIENT_ID_NOT_FOUND`.
    public static let recipientIdNotFound: Self = 1001
    /// 1002, the reference's `XMLAPI_ERROR_SYNC_ID_NOT_FOUND`.
    public static let syncIdNotFound: Self = 1002
    /// 1003, the reference's `XMLAPI_ERROR_RECIPIENT_SAVE_ERROR`.
    public static let recipientSaveError: Self = 1003
    /// 1004, the reference's `XMLAPI_ERROR_RECIPIENT_RETRIEVE_ERROR`.
    public static let recipientRetrieveError: Self = 1004
    /// 1005, the reference's `XMLAPI_ERROR_RECIPIENT_ADD_ERROR`.
    public static let recipientAddError: Self = 1005
    /// 1006, the reference's `XMLAPI_ERROR_RECIPIENT_KEY_MISSING`.
    public static let recipientKeyMissing: Self = 1006
    /// 1007, the reference's `XMLAPI_ERROR_COLUMN_DOES_NOT_EXIST`.
    public static let columnDoesNotExist: Self = 1007
    /// 1008, the reference's `XMLAPI_ERROR_RECIPIENT_NOT_FOUND`.
    public static let recipientNotFound: Self = 1008
    /// 1009, the reference's `XMLAPI_ERROR_RECIPIENT_ALREADY_DELETED`.
    public static let recipientAlreadyDeleted: Self = 1009
    /// 1011, the reference's `XMLAPI_ERROR_CANNOT_UPDATE_SYSTEM_COLUMN`.
    public static let cannotUpdateSystemColumn: Self = 1011
    /// 1015, the reference's `XMLAPI_ERROR_RECIPIENT_MERGE_ERROR`.
    public static let recipientMergeError: Self = 1015
    /// 1016, the reference's `XMLAPI_ERROR_REQUIRED_COLUMN_VALUE`.
    public static let requiredColumnValue: Self = 1016
    /// 1017, the reference's `XMLAPI_ERROR_EMAIL_NOT_VALID`.
    public static let emailNotValid: Self = 1017
    /// 1018, the reference's `XMLAPI_ERROR_CONTACT_ALREADY_EXISTS`.
    public static let contactAlreadyExists: Self = 1018
}
