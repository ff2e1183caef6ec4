/* What the files of the payment service share: charges (payment.c) and refunds (refund.c). */
#ifndef MODEL_PAYMENT_H
#define MODEL_PAYMENT_H

enum payment_statement {
  INSERT_OPERATION,
  REPLACE_OPERATION,
  READ_OPERATION,
  TAKE_OVER,
  RECORD_RESULT,
  RECORD_ATTEMPT,
  INSERT_CASE,
  ACKNOWLEDGE,
  READ_UNACKNOWLEDGED,
  PAYMENT_BOOT,
  DOUBLE_CHECKED,
  READ_UNCHECKED,
  REFUND_STATEMENTS, /* the first of EFFECT_STATEMENTS */
};

#endif
